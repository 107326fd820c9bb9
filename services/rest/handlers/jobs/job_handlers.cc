#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "services/control/decide/tenant_limit.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/views/job_ports.h"
#include "services/control/views/placer_cache.h"
#include "services/json/digest.h"
#include "services/rest/access/key_owner.h"
#include "services/rest/access/viewer.h"
#include "services/rest/handlers/jobs/job_answers.h"
#include "services/rest/handlers/jobs/job_lookup.h"
#include "services/rest/handlers/jobs/job_submission.h"
#include "services/rest/handlers/jobs/packet_marks.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/guarantees/guarantee.h"
#include "services/rest/json/jobs/job.h"
#include "services/rest/json/jobs/job_batch.h"
#include "services/rest/json/jobs/job_spec.h"
#include "services/rest/json/page.h"
#include "services/rest/json/queue/queue.h"
#include "services/rest/json/ranks/rank_text.h"

namespace railweave::api {
namespace {

using control::JobId;
using control::JobPtr;

const PageLimits kRanksPage{.initial = 1000, .max = 100'000};

struct JobFilter {
  std::optional<control::JobState> state;
  std::optional<std::string> tenant, name, external;  // external: "slurm/48213_7"

  [[nodiscard]] bool wants(const control::Job& job) const {
    return (!state || job.state == *state) && (!tenant || job.spec.tenant == *tenant) &&
           (!name || job.spec.name == *name) && (!external || is_external(job.spec.external));
  }

 private:
  [[nodiscard]] bool is_external(const scheduler::ExternalId& id) const {
    const auto slash = external->find('/');
    return slash != std::string::npos && std::string_view(*external).substr(0, slash) == id.scheduler &&
           std::string_view(*external).substr(slash + 1) == id.id;
  }
};

Result<JobFilter> read_job_filter(const Request& request) {
  JobFilter filter;
  if (const auto* text = request.query("state")) {
    filter.state = parse_enum<control::JobState>(*text);
    if (!filter.state) {
      return fail(ErrorKind::invalid, "query.invalidState", "there is no job state '" + *text + "'", {},
                  "queued, placed, completed, cancelled or lost");
    }
  }
  if (const auto* text = request.query("tenant")) filter.tenant = *text;
  if (const auto* text = request.query("name")) filter.name = *text;
  if (const auto* text = request.query("external")) filter.external = *text;
  return filter;
}

// A page of the jobs of one state. Few of many may be its caller's.
class JobPage {
 public:
  JobPage(const Call& call, ListQuery list, JobFilter filter, JobId after)
      : state_(call.plane.loop.state()),
        request_(call.request),
        filter_(std::move(filter)),
        page_(list.limit, std::move(list.fields)),
        at_(after) {}

  // The next few jobs.
  std::optional<Response> step() {
    constexpr std::size_t kAtOnce = 256;
    std::size_t visited = 0;
    bool more = false;  // jobs that go on another page
    state_->jobs.visit_after(at_, [&](const JobPtr& job) {
      if (visited++ == kAtOnce) return false;
      const bool is_of_it = filter_.wants(*job) && may_see_job(*state_, request_, *job);
      more = is_of_it && page_.full();
      if (more) return false;
      at_ = job->id;
      if (!is_of_it) return true;
      page_.add(write_job_line(*job));
      last_ = job->id;
      return true;
    });
    if (visited > kAtOnce && !more) return std::nullopt;
    return Response::json(std::move(page_).finish(more ? control::to_string(last_) : "", state_->seq));
  }

 private:
  const control::ClusterStatePtr state_;
  const Request& request_;
  const JobFilter filter_;
  PageWriter page_;
  JobId at_, last_;
};

Result<Steps> list_jobs(const Call& call) {
  auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  auto filter = read_job_filter(call.request);
  if (!filter) return std::unexpected(filter.error());
  JobId after;
  if (!query->cursor.empty()) {
    const auto parsed = control::parse_job_id(query->cursor);
    if (!parsed) return invalid_cursor(query->cursor);
    after = *parsed;
  }
  auto page = std::make_unique<JobPage>(call, std::move(*query), std::move(*filter), after);
  return Steps([page = std::move(page)] { return Result<std::optional<Response>>(page->step()); });
}

Result<void> post_job(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond) {
  auto request = read_job_request(call.request.body);
  if (!request) return std::unexpected(request.error());
  if (auto held = hold_to_own_tenant(call.request, request->spec); !held) return held;
  const std::string key(call.request.headers.value("Idempotency-Key"));
  if (auto checked = check_idempotency_key(key); !checked) return checked;
  control::SubmitJob command{std::move(request->spec),
                             key,
                             key_owner(call.request),
                             key.empty() ? std::string() : sha256_hex(call.request.body),
                             request->queue,
                             request->not_before_us,
                             own_tenant(call.request) != nullptr,
                             std::move(request->adopt),
                             request->launch};
  submit_for_job(answers, call, respond, std::move(command),
                 [&plane = call.plane, viewer = Viewer(call.request)](const control::Accepted& accepted,
                                                                      const control::Job& job, JobBeside beside) {
                   Response response = job_answer(plane, *accepted.state, job, std::move(beside),
                                                  accepted.replayed ? 200 : 201, viewer);
                   response.headers.set("Location", fmt::format("/v1/jobs/{}", control::to_string(accepted.job)));
                   return response;
                 });
  return {};
}

Result<Response> get_job(const Call& call) {
  const auto state = call.plane.loop.state();
  auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  Response response =
      job_answer(call.plane, *state, **job, beside_of(call.plane, *state, **job), 200, Viewer(call.request));
  // The reason why a job waits changes without a new version: while it waits there is no 304.
  const std::string etag(response.headers.value("ETag"));
  if ((*job)->state == control::JobState::queued) return response;
  return with_etag(call, std::move(response), etag);
}

// What its packets are marked with; asks for routes only where the job has a class, or is on InfiniBand.
RankMarks rank_marks(const ControlPlane& plane, const control::ClusterStatePtr& state, const control::Job& job) {
  RankMarks marks;
  marks.pkey_index = pkey_indices(state, job);
  const auto contract = state->contracts->find(job.spec.tenant);
  if (contract != state->contracts->end()) marks.pkey = contract->second.pkey;
  const auto& t = state->topology();
  for (const fabric::PortId port : control::job_ports(*state->placement_fabric, job.placement.gpu_of_rank)) {
    const auto kind = t.peer(port) ? t.kind(t.link(port)) : fabric::LinkKind::nvlink;
    marks.on_infiniband = marks.on_infiniband || kind == fabric::LinkKind::infiniband;
    marks.on_ethernet = marks.on_ethernet || kind == fabric::LinkKind::ethernet;
  }
  if (job.guarantee) marks.of_class = marks_of(plane, *state, *job.guarantee, job.placement.gpu_of_rank);
  if (marks.on_infiniband) marks.path_levels = path_levels_of(plane, *state, job.placement.gpu_of_rank);
  return marks;
}

// Changes with whatever the environment of ranks depends on.
std::uint64_t ranks_version(const control::ClusterState& state, const control::Job& job, const RankMarks& marks) {
  std::uint64_t version = std::max({job.version, state.accepted.version, state.qos_version});
  if (marks.of_class || marks.path_levels != 0) version = std::max(version, state.view_version);
  if (const auto at = state.contracts->find(job.spec.tenant); at != state.contracts->end()) {
    version = std::max(version, at->second.version);
  }
  for (const auto& [subnet, policy] : *state.subnet_policies) version = std::max(version, policy.version);
  return version;
}

Result<Response> get_rank_text(const Call& call, RankFormat format, bool with_script) {
  if (call.request.query("limit") != nullptr || call.request.query("cursor") != nullptr) {
    return fail(ErrorKind::invalid, "ranks.wholeOnly", "text for launchers is not divided into pages", {},
                "leave limit and cursor out");
  }
  const auto state = call.plane.loop.state();
  auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  const bool has_environment = format == RankFormat::nccl || format == RankFormat::script;
  const RankMarks marks = has_environment ? rank_marks(call.plane, state, **job) : RankMarks{};
  auto text = write_rank_text(format, **job, *state->placement_fabric, marks, with_script);
  if (!text) return std::unexpected(text.error());
  return with_etag(call, Response::text(std::move(*text)),
                   etag_of(fmt::format("{}.ranks.{}", control::to_string((*job)->id), *call.request.query("format")),
                           ranks_version(*state, **job, marks)));
}

Result<Response> get_ranks(const Call& call) {
  const auto with_script = read_flag(call, "withScript");
  if (!with_script) return std::unexpected(with_script.error());
  if (const auto* name = call.request.query("format")) {
    const auto format = rank_format_named(*name);
    if (!format) {
      return fail(ErrorKind::invalid, "ranks.unknownFormat", "there is no format '" + *name + "' of ranks", {},
                  "one of " + std::string(kRankFormats));
    }
    if (*format != RankFormat::json) return get_rank_text(call, *format, *with_script);
  }
  const auto state = call.plane.loop.state();
  auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  const auto page = read_list_query(call);
  if (!page) return std::unexpected(page.error());
  const auto cursor = read_number(call, "cursor", scheduler::JobSpec::kMaxRanks);
  if (!cursor) return std::unexpected(cursor.error());
  const std::uint64_t limit = page->limit;
  const std::uint64_t from = cursor->value_or(0);
  const RankMarks marks = rank_marks(call.plane, state, **job);
  return with_etag(call, Response::json(write_ranks(**job, *state->placement_fabric, from, limit, state->seq, marks)),
                   etag_of(fmt::format("{}.ranks.{}.{}", control::to_string((*job)->id), from, limit),
                           ranks_version(*state, **job, marks)));
}

Result<void> end_job(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                     control::JobState end_state) {
  const auto state = call.plane.loop.state();
  auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  auto version = if_version(call, *state);
  if (!version) return std::unexpected(version.error());
  const auto* reason = call.request.query("reason");
  if (reason != nullptr && reason->size() > 500) {
    return fail(ErrorKind::invalid, "query.tooLong", "the reason is longer than 500 bytes", {}, {});
  }
  const auto freed = read_flag(call, "freed");
  if (!freed) return std::unexpected(freed.error());
  control::EndJob command{(*job)->id, end_state, reason == nullptr ? std::string() : *reason, *version, *freed};
  submit_change(answers, call, respond, std::move(command));
  return {};
}

Result<void> checkpoint_job(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond) {
  const auto state = call.plane.loop.state();
  auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  std::int64_t at_us = 0;
  if (const auto* text = call.request.query("at")) {
    const auto time = parse_time_us(*text);
    if (!time) {
      return fail(ErrorKind::invalid, "query.invalidTime", "'" + *text + "' is no time", {},
                  "like 2026-11-21T09:00:00Z (RFC 3339)");
    }
    at_us = *time;
  }
  submit_change(answers, call, respond, control::CheckpointJob{(*job)->id, at_us});
  return {};
}

Result<void> repair_job(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond) {
  const auto dry_run = read_flag(call, "dryRun");
  if (!dry_run) return std::unexpected(dry_run.error());
  const auto state = call.plane.loop.state();
  auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  auto version = if_version(call, *state);
  if (!version) return std::unexpected(version.error());
  auto request = read_repair((*job)->id, call.request.body);
  if (!request) return std::unexpected(request.error());
  request->if_version = *version;
  if (!*dry_run) {
    submit_change(answers, call, respond, std::move(*request));
    return {};
  }
  auto& placers = worker_placers(call.plane);
  const auto repair = control::plan_requested_repair(*state, *request, placers, call.plane.loop.now_us());
  if (!repair) return std::unexpected(repair.error());
  respond(Response::json(write_repair(state->topology(), **job, *repair)));
  return {};
}

}  // namespace

void add_job_routes(RouteTable& routes) {
  const RouteOptions compute{.compute = true};
  const RouteOptions json{.consumes = {"application/json"}};
  const RouteOptions compute_json{.compute = true, .consumes = {"application/json"}};
  const auto answers = std::make_shared<JobAnswers>();
  const auto end = [answers](control::JobState state) {
    return
        [answers, state](const Call& call, const Responder& respond) { return end_job(answers, call, respond, state); };
  };
  routes.get("/v1/jobs",
             {.access = kViewersAndMembers,
              .query = {"tenant", "state", "name", "external"},
              .page = PageLimits{},
              .http = compute},
             list_jobs);
  routes.post("/v1/jobs", {.access = kOperatorsAndMembers, .http = json},
              [answers](const Call& call, const Responder& respond) { return post_job(answers, call, respond); });
  routes.get("/v1/jobs/{id}", {.access = kViewersAndMembers, .by = AnsweredBy::leader, .http = compute}, get_job);
  routes.get("/v1/jobs/{id}/ranks",
             {.access = kViewersAndMembers, .query = {"format", "withScript"}, .page = kRanksPage, .http = compute},
             get_ranks);
  routes.del("/v1/jobs/{id}", {.access = kOperatorsAndMembers, .query = {"freed", "reason"}, .present = present_job},
             end(control::JobState::cancelled));
  routes.post("/v1/jobs/{id}/complete",
              {.access = kOperatorsAndMembers, .query = {"freed", "reason"}, .present = present_job},
              end(control::JobState::completed));
  routes.post("/v1/jobs/{id}/checkpoint", {.access = kOperatorsAndMembers, .query = {"at"}},
              [answers](const Call& call, const Responder& respond) { return checkpoint_job(answers, call, respond); });
  routes.post("/v1/jobs/{id}/repair",
              {.access = kOperatorsAndMembers, .query = {"dryRun"}, .http = compute_json, .present = present_job},
              [answers](const Call& call, const Responder& respond) { return repair_job(answers, call, respond); });
  add_launch_routes(routes, answers);
  add_job_change_routes(routes, answers);
  add_job_batch_routes(routes);
  add_job_ports_routes(routes);
  add_job_traffic_routes(routes);
  add_step_routes(routes);
  add_placement_query_routes(routes);
  add_placement_advice_routes(routes);
  add_lab_routes(routes);
}

}  // namespace railweave::api
