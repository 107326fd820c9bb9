#include <algorithm>
#include <map>
#include <set>

#include "api/http/message/etag.h"
#include "fabric/base/text/time_text.h"
#include "scheduler/queue/cycle/job_shapes.h"
#include "services/control/views/placer_cache.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/queue_state.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/page.h"
#include "services/rest/json/queue.h"
#include "services/rest/json/queue_policy.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::JobId;
using control::JobPtr;

constexpr const char* kPolicyId = "queue";

// A page of `items` from the cursor on; write(item, index) makes the JSON.
template <class Items, class Write>
void respond_page(const ListQuery& query, const Items& items, std::uint64_t seq, const Responder& respond,
                  Write write) {
  std::uint64_t from = 0;
  if (!query.cursor.empty()) {
    auto parsed = parse_number("cursor", query.cursor, UINT32_MAX);
    if (!parsed) {
      return void(respond(Error{
          ErrorKind::invalid, "query.invalidCursor", "'" + query.cursor + "' is no cursor of this list", {}, {}}));
    }
    from = *parsed;
  }
  PageWriter page(query.limit, query.fields);
  std::uint64_t i = from;
  for (; i < items.size() && !page.full(); ++i) page.add(write(items[i], i));
  respond(Response::json(std::move(page).finish(i < items.size() ? std::to_string(i) : "", seq)));
}

void get_queue(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  respond(Response::json(write_queue(*plane.loop.state(), *plane.loop.queue())));
}

// In the order of the last cycle; who came after it stands at the end.
void list_waiting(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {"tenant"});
  if (!query) return void(respond(query.error()));
  struct Waiting {
    JobPtr job;
    const scheduler::WaitReason* reason = nullptr;
    std::uint64_t place = 0;
  };
  const auto view = plane.loop.queue();
  const auto state = plane.loop.state();
  const auto* tenant = request.query("tenant");
  std::vector<Waiting> waiting;
  std::set<JobId> seen;
  std::uint64_t place = 0;
  const auto add = [&](const JobPtr& job, const scheduler::WaitReason* reason) {
    if (job == nullptr || job->state != control::JobState::queued || !seen.insert(job->id).second) return;
    ++place;
    if (tenant == nullptr || job->spec.tenant == *tenant) waiting.push_back({job, reason, place});
  };
  for (const auto& entry : view->waiting) add(state->jobs.find(JobId(entry.job)), &entry.reason);
  state->jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    add(job, nullptr);
    return true;
  });
  respond_page(*query, waiting, state->seq, respond,
               [](const Waiting& each, std::uint64_t) { return write_waiting(*each.job, each.place, each.reason); });
}

void list_shares(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {});
  if (!query) return void(respond(query.error()));
  const auto state = plane.loop.state();
  const std::int64_t now_us = plane.loop.queue()->time_us;
  std::map<std::string, TenantShare, std::less<>> by_tenant;
  for (const auto& [name, tenant] : *state->tenants) {
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
  respond_page(*query, shares, state->seq, respond,
               [&](const TenantShare& share, std::uint64_t) { return write_share(share, total); });
}

Response policy_answer(const ClusterState& state) {
  const auto& rules = *state.queue_rules;
  return Response::json(write_queue_policy(rules.policy, rules.version))
      .with("ETag", etag_of(kPolicyId, rules.version));
}

void get_policy(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  respond(with_etag(request, policy_answer(*state), etag_of(kPolicyId, state->queue_rules->version)));
}

void put_policy(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  auto policy = read_queue_policy(request.body);
  if (!policy) return void(respond(policy.error()));
  const std::uint64_t present = plane.loop.state()->queue_rules->version;
  std::optional<std::uint64_t> version;
  if (const auto matched = if_match(request.headers, etag_of(kPolicyId, present)); matched != Precondition::absent) {
    if (matched == Precondition::fails) {
      return void(respond(Error{ErrorKind::precondition,
                                "precondition.versionDiffers",
                                "the queue's policy is at version " + std::to_string(present) + " now",
                                {},
                                "read it again, then repeat the change"}));
    }
    version = present;
  }
  submit(plane, {actor_of(request), control::PutQueueRules{std::move(*policy), version}}, respond,
         [](const control::Accepted& accepted) { return policy_answer(*accepted.state); });
}

// One of each shape that waits; where nobody waits, of what runs: the jobs that are likely to come.
void get_stranded(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  const control::QueueFacts facts(*state, plane.loop.queue()->time_us);
  scheduler::JobShapes shapes;
  std::vector<const scheduler::JobSpec*> asked;
  const auto add = [&](const scheduler::JobSpec& spec) {
    if (shapes.of(spec) == asked.size()) asked.push_back(&spec);
  };
  for (const auto& job : facts.queued) add(*job.spec);
  if (asked.empty()) {
    for (const auto& job : facts.running) add(*job.spec);
  }
  auto& placer = worker_placers(plane).at(*state);
  const auto stranded = scheduler::find_stranded(placer.fabric(), placer.tree(), asked, facts.running);
  respond(Response::json(write_stranded(stranded, asked.size(), state->seq)));
}

void get_defragmentation(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {"steps", "restart"}); !checked) return void(respond(checked.error()));
  scheduler::DefragmentOptions options;
  if (const auto* text = request.query("steps")) {
    auto steps = parse_number("steps", *text, 256);
    if (!steps) return void(respond(steps.error()));
    options.most_steps = *steps;
  }
  if (const auto* text = request.query("restart")) {
    const auto seconds = parse_duration_s(*text);
    if (!seconds) {
      return void(respond(Error{ErrorKind::invalid,
                                "query.invalidDuration",
                                "'" + *text + "' is no duration",
                                {},
                                "how long a job is down for a move, like PT5M"}));
    }
    options.restart_s = [down = static_cast<double>(*seconds)](const scheduler::RunningJob&) { return down; };
  }
  const auto state = plane.loop.state();
  const control::QueueFacts facts(*state, plane.loop.queue()->time_us);
  const auto steps = scheduler::plan_defragmentation(worker_placers(plane).at(*state), facts.running, options);
  respond(Response::json(write_defragmentation(state->topology(), steps, state->seq)));
}

// --- reservations

Error no_reservation(const std::string& name) {
  return {ErrorKind::notFound,
          "reservations.notFound",
          "there is no reservation '" + name + "'",
          {},
          "GET /v1/reservations lists them"};
}

void list_reservations(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {});
  if (!query) return void(respond(query.error()));
  const auto state = plane.loop.state();
  PageWriter page(query->limit, query->fields);
  std::string next;
  for (auto at = state->reservations->upper_bound(query->cursor); at != state->reservations->end(); ++at) {
    if (page.full()) {
      next = std::prev(at)->first;
      break;
    }
    page.add(write_reservation(state->topology(), at->second));
  }
  respond(Response::json(std::move(page).finish(next, state->seq)));
}

void get_reservation(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  const auto at = state->reservations->find(request.param("name"));
  if (at == state->reservations->end()) return void(respond(no_reservation(request.param("name"))));
  respond(with_etag(request, Response::json(write_reservation(state->topology(), at->second)),
                    etag_of(at->first, at->second.version)));
}

std::uint64_t version_of(const ClusterState& state, const std::string& name) {
  const auto at = state.reservations->find(name);
  return at == state.reservations->end() ? 0 : at->second.version;
}

void put_reservation(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const std::string& name = request.param("name");
  auto put = read_reservation(name, request.body);
  if (!put) return void(respond(put.error()));
  auto version = wanted_version(request, name, version_of(*plane.loop.state(), name));
  if (!version) return void(respond(version.error()));
  put->if_version = *version;
  submit(plane, {actor_of(request), std::move(*put)}, respond, [name](const control::Accepted& accepted) {
    const auto& stored = accepted.state->reservations->at(name);
    return Response::json(write_reservation(accepted.state->topology(), stored))
        .with("ETag", etag_of(name, stored.version));
  });
}

void delete_reservation(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const std::string& name = request.param("name");
  const auto state = plane.loop.state();
  if (!state->reservations->contains(name)) return void(respond(no_reservation(name)));
  auto version = wanted_version(request, name, version_of(*state, name));
  if (!version) return void(respond(version.error()));
  submit(plane, {actor_of(request), control::RemoveReservation{name, *version}}, respond,
         [](const control::Accepted&) { return Response::empty(); });
}

}  // namespace

const scheduler::WaitReason* wait_reason(const control::QueueView& view, JobId job) {
  const auto at = std::ranges::find(view.waiting, job.number(), &scheduler::WaitingJob::job);
  return at == view.waiting.end() ? nullptr : &at->reason;
}

void add_queue_routes(Router& router, const ControlPlane& plane) {
  const RouteOptions compute{.compute = true};
  const RouteOptions body{.consumes = {"application/json"}};
  router.get("/v1/queue", [&plane](const Request& q, Responder r) { get_queue(plane, q, r); });
  router.get("/v1/queue/jobs", [&plane](const Request& q, Responder r) { list_waiting(plane, q, r); }, compute);
  router.get("/v1/queue/shares", [&plane](const Request& q, Responder r) { list_shares(plane, q, r); }, compute);
  router.get("/v1/queue/policy", [&plane](const Request& q, Responder r) { get_policy(plane, q, r); });
  router.put("/v1/queue/policy", [&plane](const Request& q, Responder r) { put_policy(plane, q, r); }, body);
  router.get("/v1/queue/stranded", [&plane](const Request& q, Responder r) { get_stranded(plane, q, r); }, compute);
  router.get(
      "/v1/queue/defragmentation", [&plane](const Request& q, Responder r) { get_defragmentation(plane, q, r); },
      compute);
  router.get("/v1/reservations", [&plane](const Request& q, Responder r) { list_reservations(plane, q, r); });
  router.get("/v1/reservations/{name}", [&plane](const Request& q, Responder r) { get_reservation(plane, q, r); });
  router.put(
      "/v1/reservations/{name}", [&plane](const Request& q, Responder r) { put_reservation(plane, q, r); }, body);
  router.del("/v1/reservations/{name}", [&plane](const Request& q, Responder r) { delete_reservation(plane, q, r); });
}

}  // namespace railweave::api
