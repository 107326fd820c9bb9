// Which jobs agents on the nodes hold to their guarantees inside their class, where contracts ask for that.
#pragma once

#include <algorithm>
#include <mutex>

#include "services/control/agents/class_grade.h"
#include "services/control/views/job_ports.h"
#include "services/rest/control_plane.h"
#include "services/rest/handlers/guarantees/agent_clock.h"

namespace railweave::api {

// Locks the agents while it lives; the book is at the state and locked by the caller.
class AgentGrades {
 public:
  AgentGrades(const ControlPlane& plane, const control::ClusterState& state, const control::GuaranteeBook& book)
      : plane_(plane),
        state_(state),
        lock_(plane.agents->mutex),
        grades_(state, book, *plane.agents, agent_clock_ms()) {
    plane.agents->versions.bring_to(state);
  }
  control::ClassGrade of(const control::Job& job) {
    if (job.guarantee->isolation != scheduler::Isolation::within_class) return {};
    return grades_.of(job, is_filtered(job));
  }

 private:
  // Every subnet that it is in drops its class from hosts that have no job in it; of an open class none does.
  [[nodiscard]] bool is_filtered(const control::Job& job) const {
    const auto& classes = *state_.qos_classes;
    const auto at = std::ranges::find(classes, job.guarantee->qos_class, &fabric::QosClass::name);
    if (at == classes.end() || at->open) return false;
    const auto& t = state_.topology();
    const auto ports = control::job_ports(*state_.placement_fabric, job.placement.gpu_of_rank);
    return !ports.empty() && std::ranges::all_of(ports, [&](fabric::PortId port) {
      const auto subnet = t.subnet(port);
      const auto live = subnet ? plane_.live.subnet(t.name(subnet)) : nullptr;
      return live != nullptr && state_.mode(live->subnet) == live->mode && live->qos && live->qos->is_filtered &&
             live->qos->ports_pending == 0 && live->qos->problem.empty();
    });
  }

  const ControlPlane& plane_;
  const control::ClusterState& state_;
  std::unique_lock<std::mutex> lock_;
  control::ClassGrades grades_;
};

}  // namespace railweave::api
