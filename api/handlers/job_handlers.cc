#include <algorithm>

#include "api/dto/digest.h"
#include "api/dto/guarantee_dto.h"
#include "api/dto/job_dto.h"
#include "api/dto/job_spec_dto.h"
#include "api/dto/page.h"
#include "api/dto/queue_dto.h"
#include "api/dto/rank_text.h"
#include "api/dto/time_text.h"
#include "api/handlers/list_query.h"
#include "api/handlers/queue_state.h"
#include "api/handlers/reply.h"
#include "api/handlers/routes.h"
#include "services/control/admitted_placement.h"
#include "services/control/placer_cache.h"

namespace railweave::api {
namespace {

using control::JobId;
using control::JobPtr;

constexpr std::size_t kMaxKeyBytes = 200;

Result<JobPtr> find_job(const control::ClusterState& state, const std::string& id) {
  const auto parsed = control::parse_job_id(id);
  JobPtr job = parsed ? state.jobs.find(*parsed) : nullptr;
  if (job != nullptr) return job;
  return fail(ErrorKind::notFound, "jobs.notFound", "there is no job '" + id + "'", {},
              "GET /v1/jobs lists them; long ended ones are in the store's job_history");
}

std::string version_etag(const control::Job& job) { return etag_of(control::to_string(job.id), job.version); }

Response job_answer(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job,
                    int status) {
  const auto queue = plane.loop.queue();
  const auto* waits = job.state == control::JobState::queued ? wait_reason(*queue, job.id) : nullptr;
  return Response::json(write_job(job, *state.placement_fabric, waits), status);
}

// The answer is the job as it is then.
void submit_change(const ControlPlane& plane, control::Command command, const Responder& respond) {
  submit(plane, std::move(command), respond, [&plane](const control::Accepted& accepted) {
    const JobPtr job = accepted.state->jobs.find(accepted.job);
    if (job == nullptr) return Response::empty();
    return job_answer(plane, *accepted.state, *job, 200).with("ETag", version_etag(*job));
  });
}

void list_jobs(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {"tenant", "state", "name"});
  if (!query) return void(respond(query.error()));
  std::optional<control::JobState> wanted;
  if (const auto* text = request.query("state")) {
    wanted = control::parse_job_state(*text);
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

void post_job(const ControlPlane& plane, const Request& request, const Responder& respond) {
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
  submit(plane, {actor_of(request), std::move(command)}, respond, [&plane](const control::Accepted& accepted) {
    const JobPtr job = accepted.state->jobs.find(accepted.job);
    Response response = job_answer(plane, *accepted.state, *job, accepted.replayed ? 200 : 201);
    response.headers.set("Location", "/v1/jobs/" + control::to_string(accepted.job));
    response.headers.set("ETag", version_etag(*job));
    return response;
  });
}

void get_job(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  auto job = find_job(*state, request.param("id"));
  if (!job) return void(respond(job.error()));
  // Why it waits changes without a new version: no answer "not modified" while it does.
  if ((*job)->state == control::JobState::queued) {
    return void(respond(job_answer(plane, *state, **job, 200).with("ETag", version_etag(**job))));
  }
  respond(with_etag(request, job_answer(plane, *state, **job, 200), version_etag(**job)));
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
                            std::max({(*job)->version, state->accepted.version, state->qos_version}))));
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
  respond(
      with_etag(request, Response::json(write_ranks(**job, *state->placement_fabric, from, limit, state->seq, marks)),
                etag_of(control::to_string((*job)->id) + ".ranks." + std::to_string(from) + "." + std::to_string(limit),
                        std::max({(*job)->version, state->accepted.version, state->qos_version}))));
}

void end_job(const ControlPlane& plane, const Request& request, const Responder& respond, control::JobState end_state) {
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
  submit_change(plane, {actor_of(request), std::move(command)}, respond);
}

void checkpoint_job(const ControlPlane& plane, const Request& request, const Responder& respond) {
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
  submit_change(plane, {actor_of(request), control::CheckpointJob{(*job)->id, at_us}}, respond);
}

void repair_job(const ControlPlane& plane, const Request& request, const Responder& respond) {
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
  if (!*dry_run) return submit_change(plane, {actor_of(request), std::move(*wish)}, respond);
  thread_local control::PlacerCache placers(plane.routes);
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
  // Each worker thread keeps a placer of its own, brought to the newest state by what changed since its last question.
  thread_local control::PlacerCache placers(plane.routes);
  const auto state = plane.loop.state();
  auto placed = control::admitted_placement(*state, *spec, placers, true);
  // Here is the time to look at every failure that it has to survive, some at each try.
  for (int tries = 0; tries < kMostTries && !placed && placed.error().error.code == kFailuresUnknown; ++tries) {
    placed = control::admitted_placement(*state, *spec, placers, true);
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
  respond(Response::json(write_placement(*spec, result, *state->placement_fabric, *ranks, promise)));
}

}  // namespace

void add_job_routes(Router& router, const ControlPlane& plane) {
  const RouteOptions compute{.compute = true, .consumes = {"application/json"}};
  const RouteOptions body{.consumes = {"application/json"}};
  router.get("/v1/jobs", [&plane](const Request& q, Responder r) { list_jobs(plane, q, r); }, {.compute = true});
  router.post("/v1/jobs", [&plane](const Request& q, Responder r) { post_job(plane, q, r); }, body);
  router.get("/v1/jobs/{id}", [&plane](const Request& q, Responder r) { get_job(plane, q, r); });
  router.get("/v1/jobs/{id}/ranks", [&plane](const Request& q, Responder r) { get_ranks(plane, q, r); },
             {.compute = true});
  router.del("/v1/jobs/{id}",
             [&plane](const Request& q, Responder r) { end_job(plane, q, r, control::JobState::cancelled); });
  router.post("/v1/jobs/{id}/complete",
              [&plane](const Request& q, Responder r) { end_job(plane, q, r, control::JobState::completed); });
  router.post("/v1/jobs/{id}/checkpoint", [&plane](const Request& q, Responder r) { checkpoint_job(plane, q, r); });
  router.post("/v1/jobs/{id}/repair", [&plane](const Request& q, Responder r) { repair_job(plane, q, r); }, compute);
  router.post(
      "/v1/placements/query", [&plane](const Request& q, Responder r) { query_placement(plane, q, r); }, compute);
}

}  // namespace railweave::api
