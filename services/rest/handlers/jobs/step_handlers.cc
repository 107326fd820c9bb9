// What jobs report of their steps, and what steps of control have gained by that.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "services/control/views/job_ports.h"
#include "services/control/views/step_gains.h"
#include "services/rest/access/viewer.h"
#include "services/rest/handlers/jobs/job_answers.h"
#include "services/rest/handlers/jobs/job_lookup.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/jobs/step_times.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::Job;
using control::StepTimes;

constexpr std::size_t kNamedLinks = 3;

// Links of its adapters that are down, or run at less than they are to.
std::vector<MessagePart> worse_links(const ClusterState& state, const Job& job) {
  std::vector<MessagePart> parts;
  const fabric::Topology& topology = state.topology();
  for (const fabric::PortId port : control::job_ports(*state.placement_fabric, job.placement.gpu_of_rank)) {
    if (!topology.peer(port)) continue;
    const fabric::LinkId link = topology.link(port);
    const bool down = !state.view.alive(link);
    if (!down && state.view.rate(link).value() >= topology.rate(link).value()) continue;
    if (parts.size() == kNamedLinks) {
      parts.emplace_back("and more");
      break;
    }
    parts.emplace_back(LinkPart{topology.link_text(link)});
  }
  return parts;
}

// What is known of its path: its own links that are not as accepted, and the link that others slow it on most.
Message path_of(const ControlPlane& plane, const ClusterState& state, const Job& job) {
  Message message("steps.onPath", {});
  if (auto links = worse_links(state, job); !links.empty()) {
    message += "links of its nodes that are down or slower than accepted: ";
    append_list(message, std::move(links));
  }
  const auto contention = contention_of(plane, state, job);
  if (!contention || contention->link.empty()) return message;
  if (!message.empty()) message += "; ";
  message +=
      fmt::format("other jobs make its communication {:.2f} times as long, most on ", contention->own.slowdown());
  message += LinkPart{contention->link};
  std::vector<MessagePart> others;
  for (const auto& crossing : contention->own.crossing) others.emplace_back(JobPart{crossing.job});
  if (others.empty()) return message;
  message += ", which it shares with ";
  append_list(message, std::move(others));
  return message;
}

// Steps so long may make the job one that is slow; whether they do is decided with the earlier ones.
bool may_be_slow(const ClusterState& state, const Job& job, const control::ReportSteps& report) {
  const auto& predicted = job.placement.predicted;
  if (!predicted || !predicted->step_us || *predicted->step_us <= 0) return false;
  if (const auto times = state.steps.find(job.id); times != nullptr && times->slow) return false;
  return 1e6 * report.seconds / static_cast<double>(report.steps) > *predicted->step_us;
}

Result<Submission> report_steps(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  auto report = read_step_report((*job)->id, call.request.body);
  if (!report) return std::unexpected(report.error());
  if (may_be_slow(*state, **job, *report)) report->on_path = path_of(call.plane, *state, **job);
  return Submission{std::move(*report), [viewer = Viewer(call.request)](const control::Accepted& accepted) {
                      const ClusterState& now = *accepted.state;
                      const auto times = now.steps.find(accepted.job);
                      return Response::json(write_step_times(accepted.job, times.get(), viewer.reader(now)));
                    }};
}

Result<Response> get_steps(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  const auto times = state->steps.find((*job)->id);
  const std::string etag =
      etag_of(fmt::format("{}.steps", control::to_string((*job)->id)), times == nullptr ? 0 : times->version);
  return with_etag(call, Response::json(write_step_times((*job)->id, times.get(), Viewer(call.request).reader(*state))),
                   etag);
}

Result<Response> get_gains(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto gains =
      control::step_gains(*state, [&](const Job& job) { return may_see_job(*state, call.request, job); });
  return Response::json(write_gains(gains, state->seq));
}

}  // namespace

void add_step_routes(RouteTable& routes) {
  routes.get("/v1/jobs/{id}/steps", {.access = kViewersAndMembers}, get_steps);
  routes.post("/v1/jobs/{id}/steps",
              {.access = kOperatorsAndMembers, .http = {.compute = true, .consumes = {"application/json"}}},
              report_steps);
  routes.get("/v1/gains", {.access = kViewersAndMembers, .http = {.compute = true}}, get_gains);
}

}  // namespace railweave::api
