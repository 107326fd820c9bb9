#include <array>
#include <chrono>
#include <cstdint>

#include "api/http/message/prometheus_text.h"
#include "api/openapi_document.h"
#include "fabric/base/text/time_text.h"
#include "services/json/contract_object.h"
#include "services/rest/access/store_silence.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/live/live_metrics.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/service/process_metrics.h"

namespace railweave::api {
namespace {

using Type = PrometheusText::Type;

void render_jobs(const control::ClusterState& state, PrometheusText& text) {
  const auto known = static_cast<std::uint64_t>(state.jobs.size());
  const auto queued = state.jobs.queued();
  text.family("railweave_jobs", Type::gauge, "Jobs that wait in the queue, and that hold GPUs.");
  text.sample({{"state", "queued"}}, queued);
  text.sample({{"state", "placed"}}, known - queued - static_cast<std::uint64_t>(state.ended->size()));
  std::array<std::uint64_t, 2> paces{};
  state.steps.visit([&](const control::StepTimes& times) {
    const auto job = state.jobs.find(times.id);
    if (job != nullptr && job->holds_gpus() && times.factor) ++paces[times.slow ? 1 : 0];
  });
  text.family("railweave_jobs_judged", Type::gauge,
              "Placed jobs that report their steps, by whether these take as long as predicted.");
  text.sample({{"pace", "predicted"}}, paces[0]);
  text.sample({{"pace", "slow"}}, paces[1]);
  std::array<std::uint64_t, 2> guarantees{};
  for (const auto id : *state.guaranteed) {
    const auto job = state.jobs.find(id);
    if (job != nullptr && job->guarantee) ++guarantees[job->guarantee->at_risk() ? 1 : 0];
  }
  text.family("railweave_guarantees", Type::gauge, "Guarantees of bandwidth by whether present routes can hold them.");
  text.sample({{"state", "held"}}, guarantees[0]);
  text.sample({{"state", "atRisk"}}, guarantees[1]);
}

void render_control(const ControlPlane& plane, PrometheusText& text) {
  const auto figures = plane.loop.figures();
  const auto state = plane.loop.state();
  text.single("railweave_control_queued_commands", Type::gauge, "Commands waiting for the control loop.",
              static_cast<std::uint64_t>(figures.queued));
  text.family("railweave_control_commands_total", Type::counter, "Commands by how they ended.");
  text.sample({{"result", "accepted"}}, figures.accepted);
  text.sample({{"result", "refused"}}, figures.refused);
  text.sample({{"result", "busy"}}, figures.busy);
  text.single("railweave_control_batches_total", Type::counter, "Transactions of the control loop.", figures.batches);
  text.single("railweave_control_events_total", Type::counter, "Events made durable.", figures.events);
  text.single("railweave_control_store_errors_total", Type::counter, "Appends that the store refused.",
              figures.store_errors);
  text.single("railweave_state_seq", Type::gauge, "Sequence number of the published state.", state->seq);
  text.single("railweave_ready", Type::gauge, "1 when the service accepts changes.",
              static_cast<std::uint64_t>(plane.loop.phase() == control::Phase::ready ? 1 : 0));
  const bool follows = plane.replica != nullptr && plane.replica->follows();
  text.single("railweave_leads", Type::gauge, "1 when this process leads: it decides changes and programs the fabric.",
              static_cast<std::uint64_t>(!follows && plane.loop.leads() ? 1 : 0));
  text.single("railweave_leader_term", Type::gauge, "Term of the leader; 0 where only one process uses the store.",
              state->leader.term);
  text.single("railweave_replica_staleness_seconds", Type::gauge,
              "How long ago what a follower serves was the newest, at most.",
              follows ? static_cast<double>(plane.replica->staleness().count()) / 1000 : 0.0);
  text.single("railweave_event_watchers", Type::gauge, "Event streams subscribed.",
              static_cast<std::uint64_t>(plane.feed.watchers()));

  const auto& topology = state->topology();
  text.family("railweave_fabric_devices", Type::gauge, "Devices of the accepted topology.");
  text.sample({{"kind", "host"}}, static_cast<std::uint64_t>(topology.hosts().size()));
  text.sample({{"kind", "switch"}}, static_cast<std::uint64_t>(topology.switches().size()));
  text.sample({{"kind", "link"}}, static_cast<std::uint64_t>(topology.links().size()));
  text.family("railweave_gpus", Type::gauge, "GPUs of the fabric by use.");
  text.sample({{"use", "free"}}, state->free_gpus);
  text.sample({{"use", "held"}}, static_cast<std::uint64_t>(topology.gpus().size()) - state->free_gpus);
  text.family("railweave_tenant_gpus_held", Type::gauge, "GPUs held by a tenant's jobs.");
  for (const auto& [tenant, gpus] : *state->gpus_held) text.sample({{"tenant", tenant}}, gpus);
  text.single("railweave_jobs_known", Type::gauge, "Jobs waiting, placed or recently ended.",
              static_cast<std::uint64_t>(state->jobs.size()));
  render_jobs(*state, text);
}

Result<Response> get_metrics(const std::function<HttpMetrics()>& http_metrics, const Call& call) {
  const auto links = read_flag(call, "links");
  if (!links) return std::unexpected(links.error());
  PrometheusText text;
  text.family("railweave_build_info", Type::gauge, "1, with the version of the program.");
  text.sample({{"version", RAILWEAVE_VERSION}}, std::uint64_t{1});
  render_control(call.plane, text);
  render_live(call.plane, text);
  if (*links) render_links(call.plane, text);
  render(http_metrics(), text);
  render_process(text);
  Response response = Response::text(text.take());
  response.content_type = PrometheusText::kContentType;
  return response;
}

Result<Response> get_health(const Call& /*call*/) { return Response::json(R"({"status":"alive"})"); }

Result<Response> get_leader(const Call& call) {
  const auto& leader = call.plane.loop.state()->leader;
  const auto* replica = call.plane.replica;
  const bool follows = replica != nullptr && replica->follows();
  return Response::json(dump(object<"getLeader.answer">(
      maybe<"leader">(!leader.name.empty(),
                      [&] {
                        return object<"getLeader.answer.leader">(with<"name">(leader.name), with<"url">(leader.url),
                                                                 with<"term">(leader.term),
                                                                 with<"since">(time_text(leader.since_us)));
                      }),
      with<"replica">(object<"getLeader.answer.replica">(
          with<"name">(call.plane.replica_name), with<"leads">(!follows && call.plane.loop.leads()),
          with<"seq">(call.plane.loop.state()->seq),
          with<"stalenessMs">(follows ? replica->staleness().count() : 0))))));
}

// A follower is ready while it reads what the leader writes, a leader while it can write it.
Result<Response> get_readiness(const Call& call) {
  const ControlPlane& plane = call.plane;
  auto phase = plane.loop.phase();
  std::string cause = plane.loop.store_trouble();
  if (const auto silent = plane.out_of_touch()) {
    cause = store_silence(*silent);
    if (phase == control::Phase::ready) phase = control::Phase::store_failed;
  } else if (phase == control::Phase::ready) {
    if (const auto there = plane.journal.last_seq(); !there) {
      phase = control::Phase::store_failed;
      cause = there.error().text();
    }
  }
  const bool takes = (phase == control::Phase::ready || phase == control::Phase::following) && cause.empty();
  return Response::json(dump(object<"Readiness">(with<"phase">(phase), with<"seq">(plane.loop.state()->seq),
                                                 maybe<"cause">(!cause.empty(), cause))),
                        takes ? 200 : 503);
}

Result<Response> get_openapi(const Call& /*call*/) {
  static const auto document = std::make_shared<const std::string>(openapi_document());
  Response response = Response::json(document);
  response.content_type = "application/yaml";
  return response;
}

}  // namespace

void add_service_routes(RouteTable& routes, std::function<HttpMetrics()> http_metrics) {
  routes.get("/healthz", {.access = kAnyone, .any_query = true}, get_health);
  routes.get("/readyz", {.access = kAnyone, .any_query = true}, get_readiness);
  routes.get("/v1/leader", {.access = kEveryRole}, get_leader);
  routes.get("/metrics", {.access = kViewers, .query = {"links"}},
             [http_metrics = std::move(http_metrics)](const Call& call) { return get_metrics(http_metrics, call); });
  routes.get("/openapi.yaml", {.access = kAnyone, .any_query = true}, get_openapi);
}

}  // namespace railweave::api
