#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "api/http/message/etag.h"
#include "fabric/base/text/time_text.h"
#include "services/control/decide/tenant_limit.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/views/placer_cache.h"
#include "services/json/digest.h"
#include "services/rest/handlers/job_answers.h"
#include "services/rest/handlers/job_lookup.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/queue_state.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/guarantee.h"
#include "services/rest/json/job.h"
#include "services/rest/json/job_spec.h"
#include "services/rest/json/page.h"
#include "services/rest/json/queue.h"
#include "services/rest/json/rank_text.h"

namespace railweave::api {
namespace {

using control::JobId;
using control::JobPtr;

constexpr std::size_t kMaxKeyBytes = 200;

// With its ETag: its version, and what others do to it now. If-Match looks at the version alone (reply.cc).
Response job_answer(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job,
                    const std::optional<control::JobContention>& contention, int status) {
  const auto queue = plane.loop.queue();
  const auto* waits = job.state == control::JobState::queued ? wait_reason(*queue, job.id) : nullptr;
  const auto* beside = contention ? &*contention : nullptr;
  const std::string digest = contention_digest(beside);
  const std::string id = control::to_string(job.id) + "." + std::to_string(job.version);
  return Response::json(write_job(job, *state.placement_fabric, waits, beside), status)
      .with("ETag", strong_etag(digest.empty() ? id : id + "-" + digest));
}

// Hands the command to the control loop; the answer is the job as it is then, made of it by `make`, not on the control
// thread unless too many answers wait already: then it says nothing of other jobs.
using MakeAnswer = std::function<Response(const control::Accepted&, const control::Job&,
                                          const std::optional<control::JobContention>&)>;
void submit_for_job(const ControlPlane& plane, const std::shared_ptr<JobAnswers>& answers, control::Command command,
                    const Responder& respond, MakeAnswer make) {
  const bool queued = plane.loop.submit(
      std::move(command), [&plane, answers, respond, make = std::move(make)](const control::CommandResult& result) {
        if (!result) return reply(respond, result.error());
        const JobPtr job = result->state->jobs.find(result->job);
        if (job == nullptr) return void(respond(Response::empty()));
        if (!job->holds_gpus()) return void(respond(make(*result, *job, std::nullopt)));
        JobAnswers::Task task = [&plane, respond, make, accepted = *result, job] {
          respond(make(accepted, *job, contention_of(plane, *accepted.state, *job)));
        };
        if (!answers->run_later(task)) respond(make(*result, *job, std::nullopt));
      });
  if (!queued) {
    respond(Error{ErrorKind::busy, "service.busy", "too many changes are waiting", {}, "try again in a second"});
  }
}

void submit_change(const ControlPlane& plane, const std::shared_ptr<JobAnswers>& answers, control::Command command,
                   const Responder& respond) {
  submit_for_job(plane, answers, std::move(command), respond,
                 [&plane](const control::Accepted& accepted, const control::Job& job, const auto& contention) {
                   return job_answer(plane, *accepted.state, job, contention, 200);
                 });
}

void list_jobs(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {"tenant", "state", "name"});
  if (!query) return void(respond(query.error()));
  std::optional<control::JobState> wanted;
  if (const auto* text = request.query("state")) {
    wanted = parse_enum<control::JobState>(*text);
    if (!wanted) {
      return void(respond(Error{ErrorKind::invalid,
                                "query.invalidState",
                                "there is no job state '" + *text + "'",
                                {},
                                "queued, placed, completed, cancelled or lost"}));
    }
  }
  JobId after;
  if (!query->cursor.empty()) {
    const auto parsed = control::parse_job_id(query->cursor);
    if (!parsed) {
      return void(respond(Error{
          ErrorKind::invalid, "query.invalidCursor", "'" + query->cursor + "' is no cursor of this list", {}, {}}));
    }
    after = *parsed;
  }
  const auto* tenant = request.query("tenant");
  const auto* name = request.query("name");
  const auto state = plane.loop.state();
  PageWriter page(query->limit, query->fields);
  std::string next;
  JobId last;
  state->jobs.visit_after(after, [&](const JobPtr& job) {
    if (wanted && job->state != *wanted) return true;
    if (tenant != nullptr && job->spec.tenant != *tenant) return true;
    if (name != nullptr && job->spec.name != *name) return true;
    if (page.full()) {
      next = control::to_string(last);
      return false;
    }
    page.add(write_job_line(*job));
    last = job->id;
    return true;
  });
  respond(Response::json(std::move(page).finish(next, state->seq)));
}

void post_job(const ControlPlane& plane, const std::shared_ptr<JobAnswers>& answers, const Request& request,
              const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  auto wish = read_job_request(request.body);
  if (!wish) return void(respond(wish.error()));
  const std::string key(request.headers.value("Idempotency-Key"));
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (key.size() > kMaxKeyBytes || !std::ranges::all_of(key, printable)) {
    return void(respond(
        Error{ErrorKind::invalid,
              "idempotency.badKey",
              "the Idempotency-Key is no text of up to " + std::to_string(kMaxKeyBytes) + " printable ASCII characters",
              {},
              {}}));
  }
  control::SubmitJob command{std::move(wish->spec), key, key.empty() ? std::string() : sha256_hex(request.body),
                             wish->queue, wish->not_before_us};
  submit_for_job(plane, answers, {actor_of(request), std::move(command)}, respond,
                 [&plane](const control::Accepted& accepted, const control::Job& job, const auto& contention) {
                   Response response =
                       job_answer(plane, *accepted.state, job, contention, accepted.replayed ? 200 : 201);
                   response.headers.set("Location", "/v1/jobs/" + control::to_string(accepted.job));
                   return response;
                 });
}

void get_job(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  auto job = find_job(*state, request.param("id"));
  if (!job) return void(respond(job.error()));
  Response response = job_answer(plane, *state, **job, contention_of(plane, *state, **job), 200);
  // Why it waits changes without a new version: no answer "not modified" while it does.
  const std::string etag(response.headers.value("ETag"));
  if ((*job)->state == control::JobState::queued) return void(respond(std::move(response)));
  respond(with_etag(request, std::move(response), etag));
}

constexpr int kMostTries = 200;
constexpr std::string_view kFailuresUnknown = "admission.tooManyFailures";

// What packets of the class are marked with, on the state's routes: on a worker thread only.
std::optional<ClassMarks> marks_of(const ControlPlane& plane, const control::ClusterState& state,
                                   const std::string& qos_class) {
  const auto routes = plane.routes->at(state);
  return routes ? class_marks(state, qos_class, (*routes)->routing.lanes) : std::nullopt;
}

void get_rank_text(const ControlPlane& plane, const Request& request, const Responder& respond, RankFormat format) {
  if (auto checked = check_query(request, {"format", "limit", "cursor"}); !checked) {
    return void(respond(checked.error()));
  }
  if (request.query("limit") != nullptr || request.query("cursor") != nullptr) {
    return void(respond(Error{ErrorKind::invalid,
                              "ranks.wholeOnly",
                              "a launcher has no use for a page: text comes whole",
                              {},
                              "leave limit and cursor out"}));
  }
  const auto state = plane.loop.state();
  auto job = find_job(*state, request.param("id"));
  if (!job) return void(respond(job.error()));
  std::optional<ClassMarks> marks;
  if (format == RankFormat::nccl && (*job)->guarantee) {
    marks = marks_of(plane, *state, (*job)->guarantee->qos_class);
  }
  auto text = write_rank_text(format, **job, *state->placement_fabric, marks);
  if (!text) return void(respond(text.error()));
  respond(with_etag(request, Response::text(std::move(*text)),
                    etag_of(control::to_string((*job)->id) + ".ranks." + *request.query("format"),
                            std::max({(*job)->version, state->accepted.version, state->qos_version,
                                      marks ? state->view_version : 0}))));
}

void get_ranks(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (const auto* name = request.query("format")) {
    const auto format = rank_format_named(*name);
    if (!format) {
      return void(respond(Error{ErrorKind::invalid,
                                "ranks.unknownFormat",
                                "there is no format '" + *name + "' of ranks",
                                {},
                                "one of " + std::string(kRankFormats)}));
    }
    if (*format != RankFormat::json) return get_rank_text(plane, request, respond, *format);
  }
  if (auto checked = check_query(request, {"limit", "cursor", "format"}); !checked) {
    return void(respond(checked.error()));
  }
  const auto state = plane.loop.state();
  auto job = find_job(*state, request.param("id"));
  if (!job) return void(respond(job.error()));
  std::uint64_t limit = 1000;
  std::uint64_t from = 0;
  if (const auto* text = request.query("limit")) {
    auto number = parse_number("limit", *text, 100'000);
    if (!number) return void(respond(number.error()));
    if (*number == 0) {
      return void(respond(Error{ErrorKind::invalid, "query.invalidNumber", "limit must be at least 1", {}, {}}));
    }
    limit = *number;
  }
  if (const auto* text = request.query("cursor")) {
    auto number = parse_number("cursor", *text, scheduler::JobSpec::kMaxRanks);
    if (!number) return void(respond(number.error()));
    from = *number;
  }
  const auto marks = (*job)->guarantee ? marks_of(plane, *state, (*job)->guarantee->qos_class) : std::nullopt;
  respond(with_etag(
      request, Response::json(write_ranks(**job, *state->placement_fabric, from, limit, state->seq, marks)),
      etag_of(
          control::to_string((*job)->id) + ".ranks." + std::to_string(from) + "." + std::to_string(limit),
          std::max({(*job)->version, state->accepted.version, state->qos_version, marks ? state->view_version : 0}))));
}

void end_job(const ControlPlane& plane, const std::shared_ptr<JobAnswers>& answers, const Request& request,
             const Responder& respond, control::JobState end_state) {
  if (auto checked = check_query(request, {"reason"}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  auto job = find_job(*state, request.param("id"));
  if (!job) return void(respond(job.error()));
  auto version = wanted_version(request, control::to_string((*job)->id), (*job)->version);
  if (!version) return void(respond(version.error()));
  const auto* reason = request.query("reason");
  if (reason != nullptr && reason->size() > 500) {
    return void(respond(Error{ErrorKind::invalid, "query.tooLong", "the reason is longer than 500 bytes", {}, {}}));
  }
  control::EndJob command{(*job)->id, end_state, reason == nullptr ? std::string() : *reason, *version};
  submit_change(plane, answers, {actor_of(request), std::move(command)}, respond);
}

void checkpoint_job(const ControlPlane& plane, const std::shared_ptr<JobAnswers>& answers, const Request& request,
                    const Responder& respond) {
  if (auto checked = check_query(request, {"at"}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  auto job = find_job(*state, request.param("id"));
  if (!job) return void(respond(job.error()));
  std::int64_t at_us = 0;
  if (const auto* text = request.query("at")) {
    const auto time = parse_time_us(*text);
    if (!time) {
      return void(respond(Error{ErrorKind::invalid,
                                "query.invalidTime",
                                "'" + *text + "' is no time",
                                {},
                                "like 2026-11-21T09:00:00Z (RFC 3339)"}));
    }
    at_us = *time;
  }
  submit_change(plane, answers, {actor_of(request), control::CheckpointJob{(*job)->id, at_us}}, respond);
}

void repair_job(const ControlPlane& plane, const std::shared_ptr<JobAnswers>& answers, const Request& request,
                const Responder& respond) {
  if (auto checked = check_query(request, {"dryRun"}); !checked) return void(respond(checked.error()));
  const auto dry_run = read_flag(request, "dryRun");
  if (!dry_run) return void(respond(dry_run.error()));
  const auto state = plane.loop.state();
  auto job = find_job(*state, request.param("id"));
  if (!job) return void(respond(job.error()));
  auto version = wanted_version(request, control::to_string((*job)->id), (*job)->version);
  if (!version) return void(respond(version.error()));
  auto wish = read_repair((*job)->id, request.body);
  if (!wish) return void(respond(wish.error()));
  wish->if_version = *version;
  if (!*dry_run) return submit_change(plane, answers, {actor_of(request), std::move(*wish)}, respond);
  auto& placers = worker_placers(plane);
  const auto repair = control::plan_requested_repair(*state, *wish, placers);
  if (!repair) return void(respond(repair.error()));
  respond(Response::json(write_repair(state->topology(), **job, *repair)));
}

void query_placement(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {"ranks"}); !checked) return void(respond(checked.error()));
  auto spec = read_job_spec(request.body);
  if (!spec) return void(respond(spec.error()));
  const auto ranks = read_flag(request, "ranks");
  if (!ranks) return void(respond(ranks.error()));
  auto& placers = worker_placers(plane);
  const auto state = plane.loop.state();
  auto placed = control::admitted_placement(*state, *spec, placers, true);
  // Here is the time to look at every failure that it has to survive, some at each try.
  for (int tries = 0; tries < kMostTries && !placed && placed.error().error.code == kFailuresUnknown; ++tries) {
    placed = control::admitted_placement(*state, *spec, placers, true);
  }
  // As a submission would be answered.
  if (const auto tenant = state->tenants->find(spec->tenant); placed && tenant != state->tenants->end()) {
    auto over = control::over_gpu_limit(*state, tenant->second, placed->result.placement.held_gpus().size());
    if (over) placed = std::unexpected(control::as_answer(*state, {std::move(*over), nullptr, {}}));
  }
  if (!placed && placed.error().placement == nullptr) return reply(respond, placed.error());
  const auto& result = placed ? placed->result : *placed.error().placement;
  PlacementPromise promise;
  if (!placed) promise.blocked = &placed.error().links;
  if (placed && placed->guarantee) {
    promise.guarantee = &*placed->guarantee;
    promise.reservation = placed->reservation.get();
    promise.marks = marks_of(plane, *state, placed->guarantee->qos_class);
    const auto contract = state->contracts->find(spec->tenant);
    if (contract != state->contracts->end()) promise.pkey = contract->second.pkey | 0x8000U;
  }
  std::optional<control::JobContention> contention;
  if (placed) contention = contention_of(plane, *state, *spec, result.placement.gpu_of_rank);
  respond(Response::json(
      write_placement(*spec, result, *state->placement_fabric, *ranks, promise, contention ? &*contention : nullptr)));
}

}  // namespace

void add_job_routes(Router& router, const ControlPlane& plane) {
  const RouteOptions compute{.compute = true, .consumes = {"application/json"}};
  const RouteOptions body{.consumes = {"application/json"}};
  const auto answers = std::make_shared<JobAnswers>();
  router.get("/v1/jobs", [&plane](const Request& q, Responder r) { list_jobs(plane, q, r); }, {.compute = true});
  router.post("/v1/jobs", [&plane, answers](const Request& q, Responder r) { post_job(plane, answers, q, r); }, body);
  router.get("/v1/jobs/{id}", [&plane](const Request& q, Responder r) { get_job(plane, q, r); }, {.compute = true});
  router.get("/v1/jobs/{id}/ranks", [&plane](const Request& q, Responder r) { get_ranks(plane, q, r); },
             {.compute = true});
  router.del("/v1/jobs/{id}", [&plane, answers](const Request& q, Responder r) {
    end_job(plane, answers, q, r, control::JobState::cancelled);
  });
  router.post("/v1/jobs/{id}/complete", [&plane, answers](const Request& q, Responder r) {
    end_job(plane, answers, q, r, control::JobState::completed);
  });
  router.post("/v1/jobs/{id}/checkpoint",
              [&plane, answers](const Request& q, Responder r) { checkpoint_job(plane, answers, q, r); });
  router.post(
      "/v1/jobs/{id}/repair", [&plane, answers](const Request& q, Responder r) { repair_job(plane, answers, q, r); },
      compute);
  router.post(
      "/v1/placements/query", [&plane](const Request& q, Responder r) { query_placement(plane, q, r); }, compute);
}

}  // namespace railweave::api
