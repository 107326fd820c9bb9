#include "services/control/event.h"

namespace railweave::control {
namespace {

struct MakeHeading {
  EventHeading operator()(const TopologyAccepted& event) const {
    const auto& topology = *event.topology;
    return {"topology.accepted", "topology", event.digest.substr(0, 12), EventSeverity::info,
            "fabric of " + std::to_string(topology.hosts().size()) + " hosts, " +
                std::to_string(topology.switches().size()) + " switches and " + std::to_string(topology.gpus().size()) +
                " GPUs accepted from " + event.source};
  }
  EventHeading operator()(const TenantPut& event) const {
    const auto& tenant = event.tenant;
    return {"tenant.put", "tenant", tenant.name, EventSeverity::info,
            "tenant " + tenant.name +
                (tenant.max_gpus ? " may hold " + std::to_string(*tenant.max_gpus) + " GPUs" : " has no GPU limit")};
  }
  EventHeading operator()(const TenantRemoved& event) const {
    return {"tenant.removed", "tenant", event.name, EventSeverity::info, "tenant " + event.name + " removed"};
  }
  EventHeading operator()(const JobPlaced& event) const {
    const auto& job = *event.job;
    return {"job.placed", "job", to_string(job.id), EventSeverity::info,
            to_string(job.id) + " '" + job.spec.name + "' of " + job.spec.tenant + " placed: " +
                std::to_string(job.placement.gpu_of_rank.size()) + " GPUs on " + std::to_string(job.nodes.size()) +
                " nodes within one " + std::string(fabric::to_string(job.placement.level))};
  }
  EventHeading operator()(const JobEnded& event) const {
    return {"job.ended", "job", to_string(event.id),
            event.state == JobState::lost ? EventSeverity::error : EventSeverity::info,
            to_string(event.id) + " " + std::string(to_string(event.state)) +
                (event.reason.empty() ? "" : ": " + event.reason)};
  }
};

}  // namespace

EventHeading heading(const EventBody& body) { return std::visit(MakeHeading{}, body); }

}  // namespace railweave::control
