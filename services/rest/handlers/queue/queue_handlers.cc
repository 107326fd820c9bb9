#include <algorithm>
#include <map>
#include <set>

#include "fabric/base/text/time_text.h"
#include "scheduler/queue/cycle/job_shapes.h"
#include "services/control/views/closed_gpus.h"
#include "services/control/views/placer_cache.h"
#include "services/rest/access/viewer.h"
#include "services/rest/handlers/jobs/expected_start.h"
#include "services/rest/handlers/jobs/queue_state.h"
#include "services/rest/handlers/list_page.h"
#include "services/rest/handlers/queue/planned_moves.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/page.h"
#include "services/rest/json/queue/queue.h"
#include "services/rest/json/queue/queue_policy.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::JobId;
using control::JobPtr;

constexpr const char* kPolicyId = "queue";
constexpr std::uint64_t kMaxSteps = 256;

// A page of `items` from the cursor on; write(item, index) makes the JSON.
template <class Items, class Write>
Result<Response> list_items(const ListQuery& query, const Items& items, std::uint64_t seq, Write write) {
  std::uint64_t from = 0;
  if (!query.cursor.empty()) {
    const auto parsed = parse_number("cursor", query.cursor, UINT32_MAX);
    if (!parsed) return invalid_cursor(query.cursor);
    from = *parsed;
  }
  PageWriter page(query.limit, query.fields);
  std::uint64_t i = from;
  for (; i < items.size() && !page.full(); ++i) page.add(write(items[i], i));
  return Response::json(std::move(page).finish(i < items.size() ? std::to_string(i) : "", seq));
}

Result<Response> get_queue(const Call& call) {
  return Response::json(write_queue(*call.plane.loop.state(), *call.plane.loop.queue()));
}

// In the order of the last cycle; jobs submitted since then come last.
Result<Response> list_waiting(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  struct Waiting {
    JobPtr job;
    const scheduler::WaitReason* reason = nullptr;
    std::uint64_t place = 0;
  };
  const auto view = call.plane.loop.queue();
  const auto state = call.plane.loop.state();
  const auto* tenant = call.request.query("tenant");
  std::vector<Waiting> waiting;
  std::set<JobId> seen;
  std::uint64_t place = 0;
  const auto add = [&](const JobPtr& job, const scheduler::WaitReason* reason) {
    if (job == nullptr || job->state != control::JobState::queued || !seen.insert(job->id).second) return;
    ++place;
    if (!may_see_job(*state, call.request, *job)) return;
    if (tenant == nullptr || job->spec.tenant == *tenant) waiting.push_back({job, reason, place});
  };
  for (const auto& entry : view->waiting) add(state->jobs.find(JobId(entry.job)), &entry.reason);
  state->jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    add(job, nullptr);
    return true;
  });
  std::vector<JobId> ids;
  for (const Waiting& each : waiting) ids.push_back(each.job->id);
  const auto expected_us = expected_times(call.plane, *state, ids);
  const Viewer viewer(call.request);
  const MessageReader reader = viewer.reader(*state);
  return list_items(*query, waiting, state->seq, [&](const Waiting& each, std::uint64_t at) {
    return write_waiting(*each.job, each.place, each.reason, expected_us[at], reader);
  });
}

Result<Response> list_shares(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const auto state = call.plane.loop.state();
  const std::int64_t now_us = call.plane.loop.queue()->time_us;
  std::map<std::string, TenantShare, std::less<>> by_tenant;
  for (const auto& [name, tenant] : *state->tenants) {
    if (!may_see(call.request, name)) continue;
    by_tenant[name] = {&tenant, 0, 0, state->used->average_gpus(name, now_us)};
  }
  state->jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    const auto share = by_tenant.find(job->spec.tenant);
    if (share == by_tenant.end()) return true;
    const std::uint64_t gpus = scheduler::rank_count(job->spec.parallelism);
    if (job->holds_gpus()) share->second.running_gpus += gpus;
    if (job->state == control::JobState::queued) share->second.waiting_gpus += gpus;
    return true;
  });
  std::vector<TenantShare> shares;
  for (const auto& [name, share] : by_tenant) shares.push_back(share);
  const std::uint64_t total = state->topology().gpus().size();
  return list_items(*query, shares, state->seq,
                    [&](const TenantShare& share, std::uint64_t) { return write_share(share, total); });
}

Response policy_answer(const ClusterState& state) {
  const auto& rules = *state.queue_rules;
  return Response::json(write_queue_policy(rules.policy, rules.version))
      .with("ETag", etag_of(kPolicyId, rules.version));
}

PresentVersion present_policy(const ClusterState& state, const Request& /*request*/) {
  return {"the queue's policy", etag_of(kPolicyId, state.queue_rules->version), state.queue_rules->version};
}

Result<Response> get_policy(const Call& call) {
  const auto state = call.plane.loop.state();
  return with_etag(call, policy_answer(*state), etag_of(kPolicyId, state->queue_rules->version));
}

Result<Submission> put_policy(const Call& call) {
  auto policy = read_queue_policy(call.request.body);
  if (!policy) return std::unexpected(policy.error());
  const auto version = if_version(call, *call.plane.loop.state());
  if (!version) return std::unexpected(version.error());
  return Submission{control::PutQueueRules{std::move(*policy), *version},
                    [](const control::Accepted& accepted) { return policy_answer(*accepted.state); }};
}

// Asks for one job of each shape that waits, or, with an empty queue, of each that runs: the jobs likely to come.
Result<Response> get_stranded(const Call& call) {
  const auto state = call.plane.loop.state();
  const control::QueueFacts facts(*state, call.plane.loop.queue()->time_us);
  scheduler::JobShapes shapes;
  std::vector<const scheduler::JobSpec*> asked;
  const auto add = [&](const scheduler::JobSpec& spec) {
    if (shapes.of(spec) == asked.size()) asked.push_back(&spec);
  };
  for (const auto& job : facts.queued) add(*job.spec);
  if (asked.empty()) {
    for (const auto& job : facts.running) add(*job.spec);
  }
  auto& placer = worker_placers(call.plane).at(*state);
  const auto stranded = scheduler::find_stranded(placer.fabric(), placer.tree(), asked, facts.running);
  return Response::json(write_stranded(stranded, asked.size(), state->seq));
}

Result<Response> get_defragmentation(const Call& call) {
  if (const auto* for_job = call.request.query("for"); for_job != nullptr && *for_job != "domains") {
    return planned_moves(call, *for_job);
  }
  scheduler::DefragmentOptions options;
  const auto steps_wanted = read_number(call, "steps", kMaxSteps);
  if (!steps_wanted) return std::unexpected(steps_wanted.error());
  if (*steps_wanted) options.most_steps = **steps_wanted;
  if (const auto* text = call.request.query("restart")) {
    const auto seconds = parse_duration_s(*text);
    if (!seconds) {
      return fail(ErrorKind::invalid, "query.invalidDuration", "'" + *text + "' is no duration", {},
                  "how long a job is down for a move, like PT5M");
    }
    options.restart_s = [down = static_cast<double>(*seconds)](const scheduler::RunningJob&) { return down; };
  }
  const auto state = call.plane.loop.state();
  const control::QueueFacts facts(*state, call.plane.loop.queue()->time_us);
  auto& placers = worker_placers(call.plane);
  const std::int64_t now_us = call.plane.loop.now_us();
  options.closed = [&](const scheduler::RunningJob& running) {
    const auto job = state->jobs.find(control::JobId(running.id));
    return control::closed_gpus(*state, job->spec.tenant, now_us, control::expected_end_us(*state, *job, now_us)).gpus;
  };
  options.cut_off = [&](const scheduler::RunningJob& running) -> scheduler::CutOff {
    return [&](std::span<const fabric::GpuId> gpu_of_rank) {
      return placers.reach(*state).cut_off(*running.spec, gpu_of_rank);
    };
  };
  const auto steps = scheduler::plan_defragmentation(placers.at(*state), facts.running, options);
  return Response::json(write_defragmentation(state->topology(), steps, state->seq));
}

// --- reservations

Error no_reservation(const std::string& name) {
  return {ErrorKind::notFound,
          "reservations.notFound",
          "there is no reservation '" + name + "'",
          {},
          "GET /v1/reservations lists them"};
}

Result<Response> list_reservations(const Call& call) {
  const auto state = call.plane.loop.state();
  return list_by_name(call, *state->reservations, state->seq, [&](const control::GpuReservation& reservation) {
    return write_reservation(state->topology(), reservation);
  });
}

Result<Response> get_reservation(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto at = state->reservations->find(call.request.param("name"));
  if (at == state->reservations->end()) return std::unexpected(no_reservation(call.request.param("name")));
  return with_etag(call, Response::json(write_reservation(state->topology(), at->second)),
                   etag_of(at->first, at->second.version));
}

PresentVersion present_reservation(const ClusterState& state, const Request& request) {
  const std::string& name = request.param("name");
  const auto at = state.reservations->find(name);
  return present_version(name, at == state.reservations->end() ? 0 : at->second.version);
}

Result<Submission> put_reservation(const Call& call) {
  const std::string& name = call.request.param("name");
  auto put = read_reservation(name, call.request.body);
  if (!put) return std::unexpected(put.error());
  auto version = if_version(call, *call.plane.loop.state());
  if (!version) return std::unexpected(version.error());
  put->if_version = *version;
  return Submission{std::move(*put), [name](const control::Accepted& accepted) {
                      const auto stored = accepted.state->reservations->find(name);
                      // Over within the moment that it took to store it.
                      if (stored == accepted.state->reservations->end()) return to_response(no_reservation(name));
                      return Response::json(write_reservation(accepted.state->topology(), stored->second))
                          .with("ETag", etag_of(name, stored->second.version));
                    }};
}

Result<Submission> delete_reservation(const Call& call) {
  const std::string& name = call.request.param("name");
  const auto state = call.plane.loop.state();
  if (!state->reservations->contains(name)) return std::unexpected(no_reservation(name));
  auto version = if_version(call, *state);
  if (!version) return std::unexpected(version.error());
  return Submission{control::RemoveReservation{name, *version},
                    [](const control::Accepted&) { return Response::empty(); }};
}

}  // namespace

const scheduler::WaitReason* wait_reason(const control::QueueView& view, JobId job) {
  const auto at = std::ranges::find(view.waiting, job.number(), &scheduler::WaitingJob::job);
  return at == view.waiting.end() ? nullptr : &at->reason;
}

void add_queue_routes(RouteTable& routes) {
  const RouteOptions compute{.compute = true};
  const RouteOptions json{.consumes = {"application/json"}};
  routes.get("/v1/queue", {.access = kViewersAndMembers, .by = AnsweredBy::leader}, get_queue);
  routes.get("/v1/queue/jobs",
             {.access = kViewersAndMembers,
              .query = {"tenant"},
              .page = PageLimits{},
              .by = AnsweredBy::leader,
              .http = compute},
             list_waiting);
  routes.get("/v1/queue/shares",
             {.access = kViewersAndMembers, .page = PageLimits{}, .by = AnsweredBy::leader, .http = compute},
             list_shares);
  routes.get("/v1/queue/policy", {.access = kViewersAndMembers}, get_policy);
  routes.put("/v1/queue/policy", {.access = kAdministrators, .http = json, .present = present_policy}, put_policy);
  routes.get("/v1/queue/stranded", {.access = kViewers, .by = AnsweredBy::leader, .http = compute}, get_stranded);
  routes.get("/v1/queue/defragmentation",
             {.access = kViewers, .query = {"for", "steps", "restart"}, .by = AnsweredBy::leader, .http = compute},
             get_defragmentation);
  add_move_routes(routes);
  routes.get("/v1/reservations", {.access = kViewers, .page = PageLimits{}}, list_reservations);
  routes.get("/v1/reservations/{name}", {.access = kViewers}, get_reservation);
  routes.put("/v1/reservations/{name}", {.access = kOperators, .http = json, .present = present_reservation},
             put_reservation);
  routes.del("/v1/reservations/{name}", {.access = kOperators, .present = present_reservation}, delete_reservation);
}

}  // namespace railweave::api
