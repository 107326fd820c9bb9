#include "services/control/decide/decide.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "fabric/base/text/time_text.h"
#include "scheduler/queue/cycle/wait_reason.h"
#include "services/control/decide/contracts.h"
#include "services/control/decide/refusal.h"
#include "services/control/decide/reservation_plan.h"
#include "services/control/decide/tenant_limit.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/guarantees/job_repair.h"
#include "services/control/guarantees/recheck.h"
#include "services/control/guarantees/routes.h"

namespace railweave::control {
namespace {

// The subnet of a link between switches; "": the topology has no such link.
std::string_view subnet_of(const fabric::Topology& t, const std::string& link_text) {
  const auto link = t.find_link(link_text);
  return link && t.joins_switches(link) ? t.name(t.subnet(t.switch_of(t.a(link)))) : std::string_view();
}

struct Decide {
  const ClusterState& state;
  std::int64_t now_us;
  PlacerCache& placers;
  QueueRunner& queue;

  using Outcome = std::expected<Decision, Rejection>;

  Outcome operator()(const SubmitJob& command) const {
    if (!command.idempotency_key.empty()) {
      if (const auto earlier = state.idempotency.find(command.idempotency_key)) {
        const JobPtr job = state.jobs.find(*earlier);
        if (job != nullptr && job->request_digest == command.request_digest) return Decision{{}, *earlier, true};
        return refuse(ErrorKind::impossible, "idempotency.keyReused",
                      "the Idempotency-Key was used for another request, which made " + to_string(*earlier),
                      "use a new key for a new job");
      }
    }
    if (const auto checked = scheduler::check_job_spec(command.spec); !checked) {
      return std::unexpected(Rejection{checked.error(), nullptr});
    }
    const auto tenant = state.tenants->find(command.spec.tenant);
    if (tenant == state.tenants->end()) {
      return refuse(ErrorKind::invalid, "tenants.unknown", "there is no tenant '" + command.spec.tenant + "'",
                    "create it first: PUT /v1/tenants/" + command.spec.tenant);
    }
    const std::uint64_t gpus = scheduler::rank_count(command.spec.parallelism);
    if (auto over = over_limit(tenant->second, gpus, command.queue)) return std::unexpected(std::move(*over));
    auto job = std::make_shared<Job>();
    job->id = JobId(state.next_job);
    job->spec = command.spec;
    job->submitted_us = now_us;
    job->not_before_us = command.not_before_us;
    job->idempotency_key = command.idempotency_key;
    job->request_digest = command.request_digest;
    const JobId id = job->id;

    if (command.queue) return wait_in_line(std::move(job));
    if (state.queued_jobs != 0 || !state.reservations->empty() || tenant->second.quota_gpus) {
      return beside_the_queue(std::move(job));
    }
    auto placed = admitted_placement(state, command.spec, placers);
    if (!placed) return std::unexpected(std::move(placed.error()));
    job->state = JobState::placed;
    if (auto over = over_limit(tenant->second, placed->result.placement.held_gpus().size(), false)) {
      return std::unexpected(std::move(*over));  // with what it holds idle
    }
    job->placement = std::move(placed->result.placement);
    job->guarantee = std::move(placed->guarantee);
    job->nodes = node_names(state.topology(), job->placement.gpu_of_rank);
    return Decision{{JobPlaced{std::move(job), ""}}, id, false};
  }

  // What no state of this fabric can meet, or no contract allows, need not wait for it.
  [[nodiscard]] Outcome wait_in_line(const JobPtr& job) const {
    if (const auto terms = job_terms(state, job->spec); !terms)
      return std::unexpected(Rejection{terms.error(), nullptr});
    auto result = placers.at(state).place(job->spec);
    if (result.outcome == scheduler::Outcome::never) return not_placed(std::move(result));
    return Decision{{JobQueued{job}}, job->id, false};  // the cycle that follows may start it at once
  }

  // A job that does not want to wait, where others do or GPUs are set aside: it starts if that harms none of them.
  [[nodiscard]] Outcome beside_the_queue(const JobPtr& job) const {
    auto verdict = queue.ask(state, job, now_us);
    if (!verdict.events.empty()) return Decision{std::move(verdict.events), job->id, false};
    if (verdict.reason.placement && verdict.reason.placement->outcome != scheduler::Outcome::placed) {
      return not_placed(*verdict.reason.placement);
    }
    if (const auto placed = admitted_placement(state, job->spec, placers); !placed) {
      return std::unexpected(placed.error());
    }
    return refuse(ErrorKind::conflict, "jobs.mustWait",
                  "GPUs are free, but the job would have to wait: " + scheduler::text(verdict.reason),
                  "submit it with \"queue\": true to wait for its turn");
  }

  static std::unexpected<Rejection> not_placed(scheduler::PlacementResult result) {
    const bool never = result.outcome == scheduler::Outcome::never;
    Rejection rejection{{never ? ErrorKind::impossible : ErrorKind::conflict,
                         result.explanation.code,
                         result.explanation.message,
                         {},
                         {}},
                        nullptr};
    rejection.placement = std::make_shared<const scheduler::PlacementResult>(std::move(result));
    return std::unexpected(std::move(rejection));
  }

  // A job that queues waits for its tenant's other jobs.
  [[nodiscard]] std::optional<Rejection> over_limit(const Tenant& tenant, std::uint64_t gpus, bool queues) const {
    auto over = over_gpu_limit(state, tenant, gpus);
    if (!over || (queues && over->kind != ErrorKind::impossible)) return std::nullopt;
    return Rejection{std::move(*over), nullptr};
  }

  Outcome operator()(const RepairJob& command) const {
    const JobPtr job = state.jobs.find(command.id);
    if (job == nullptr) return refuse(ErrorKind::notFound, "jobs.notFound", "there is no " + to_string(command.id));
    if (command.if_version && *command.if_version != job->version) {
      return refuse_version("the job", *command.if_version, job->version);
    }
    const auto repair = plan_requested_repair(state, command, placers);
    if (!repair) return std::unexpected(Rejection{repair.error(), nullptr});
    std::vector<EventBody> events;
    for (const auto& node : repair->to_drain) {
      events.emplace_back(DrainRequested{{DrainKind::node, node}, "lost under " + to_string(command.id), true});
    }
    events.emplace_back(moved(state, *job, repair->lost, repair->plan, command.reason, placers));
    return Decision{std::move(events), command.id, false};
  }

  Outcome operator()(const CheckpointJob& command) const {
    const JobPtr job = state.jobs.find(command.id);
    if (job == nullptr) return refuse(ErrorKind::notFound, "jobs.notFound", "there is no " + to_string(command.id));
    if (!job->holds_gpus()) {
      return refuse(ErrorKind::conflict, "jobs.notRunning",
                    to_string(command.id) + " is " + std::string(to_string(job->state)) + ": it saves nothing");
    }
    const std::int64_t saved_us = command.saved_us == 0 ? now_us : command.saved_us;
    if (saved_us > now_us || saved_us < job->started_us) {
      return refuse(ErrorKind::impossible, "jobs.badCheckpoint",
                    "a checkpoint lies between the job's start, " + whole_second_text(job->started_us) + ", and now");
    }
    if (saved_us <= job->saved_us) return Decision{{}, command.id, true};
    return Decision{{JobCheckpointed{command.id, saved_us}}, command.id, false};
  }

  Outcome operator()(const PutQueueRules& command) const {
    if (command.if_version && *command.if_version != state.queue_rules->version) {
      return refuse_version("the queue's policy", *command.if_version, state.queue_rules->version);
    }
    if (auto checked = scheduler::check_queue_policy(command.policy); !checked) {
      return std::unexpected(Rejection{checked.error(), nullptr});
    }
    if (state.queue_rules->version != 0 && command.policy == state.queue_rules->policy) return Decision{};
    return Decision{{QueueRulesPut{command.policy}}, {}, false};
  }

  Outcome operator()(const PutReservation& command) const {
    const auto present = state.reservations->find(command.name);
    const std::uint64_t version = present == state.reservations->end() ? 0 : present->second.version;
    if (command.if_version && *command.if_version != version) {
      return refuse_version("the reservation", *command.if_version, version);
    }
    auto window = plan_window(state, command, now_us, placers);
    if (!window) return std::unexpected(Rejection{window.error(), nullptr});
    return Decision{{ReservationPut{{std::move(*window), command.reason, 0}}}, {}, false};
  }

  Outcome operator()(const RemoveReservation& command) const {
    const auto present = state.reservations->find(command.name);
    if (present == state.reservations->end()) {
      return refuse(ErrorKind::notFound, "reservations.notFound", "there is no reservation '" + command.name + "'",
                    "GET /v1/reservations lists them");
    }
    if (command.if_version && *command.if_version != present->second.version) {
      return refuse_version("the reservation", *command.if_version, present->second.version);
    }
    return Decision{{ReservationRemoved{command.name, false}}, {}, false};
  }

  Outcome operator()(const EndJob& command) const {
    const JobPtr job = state.jobs.find(command.id);
    if (job == nullptr) return refuse(ErrorKind::notFound, "jobs.notFound", "there is no " + to_string(command.id));
    if (command.if_version && *command.if_version != job->version) {
      return refuse_version("the job", *command.if_version, job->version);
    }
    if (job->has_ended()) return Decision{{}, command.id, true};  // ending twice is ending once
    if (job->state == JobState::queued && command.state == JobState::completed) {
      return refuse(ErrorKind::conflict, "jobs.notRunning", to_string(command.id) + " waits: it cannot have completed",
                    "cancel it: DELETE /v1/jobs/" + to_string(command.id));
    }
    return Decision{{JobEnded{command.id, command.state, command.reason}}, command.id, false};
  }

  Outcome operator()(const PutTenant& command) const {
    const auto present = state.tenants->find(command.tenant.name);
    const std::uint64_t version = present == state.tenants->end() ? 0 : present->second.version;
    if (command.if_version && *command.if_version != version) {
      return refuse_version("the tenant", *command.if_version, version);
    }
    if (version != 0 && present->second.same_rules(command.tenant)) return Decision{};
    return Decision{{TenantPut{command.tenant}}, {}, false};
  }

  Outcome operator()(const RemoveTenant& command) const {
    const auto present = state.tenants->find(command.name);
    if (present == state.tenants->end()) {
      return refuse(ErrorKind::notFound, "tenants.notFound", "there is no tenant '" + command.name + "'");
    }
    if (command.if_version && *command.if_version != present->second.version) {
      return refuse_version("the tenant", *command.if_version, present->second.version);
    }
    if (const auto held = state.gpus_held->find(command.name); held != state.gpus_held->end()) {
      return refuse(ErrorKind::conflict, "tenants.holdsGpus",
                    "tenant " + command.name + " holds " + std::to_string(held->second) + " GPUs",
                    "end its jobs first");
    }
    if (const auto why = still_used(command.name)) return refuse(ErrorKind::conflict, "tenants.inUse", *why);
    if (state.contracts->contains(command.name)) {
      return refuse(ErrorKind::conflict, "tenants.hasContract", "tenant " + command.name + " has a contract",
                    "remove that first: DELETE /v1/contracts/" + command.name);
    }
    return Decision{{TenantRemoved{command.name}}, {}, false};
  }

  Outcome operator()(const AcceptTopology& command) const {
    if (command.if_version && *command.if_version != state.accepted.version) {
      return refuse_version("the topology", *command.if_version, state.accepted.version);
    }
    if (command.digest == state.accepted.digest) return Decision{};
    std::vector<EventBody> events;
    std::string homeless;
    state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (!job->holds_gpus()) return true;
      if (map_gpus(state.topology(), *command.topology, job->placement.gpu_of_rank)) return true;
      if (events.size() < 5) homeless += (homeless.empty() ? "" : ", ") + to_string(job->id);
      events.emplace_back(JobEnded{job->id, JobState::lost, "its nodes are not in the new topology"});
      return true;
    });
    if (!events.empty() && !command.force) {
      return refuse(ErrorKind::conflict, "topology.losesJobs",
                    std::to_string(events.size()) + " running job(s) use GPUs that are not in the new topology: " +
                        homeless + (events.size() > 5 ? "..." : ""),
                    "end them first, or force the import, which ends them as lost");
    }
    events.emplace_back(TopologyAccepted{command.topology, command.document, command.digest, command.source});
    return Decision{std::move(events), {}, false};
  }

  Outcome operator()(const SetSubnetMode& command) const {
    const auto present = state.subnet_policies->find(command.subnet);
    const bool known = present != state.subnet_policies->end();
    const std::uint64_t version = known ? present->second.version : 0;
    if (command.if_version && *command.if_version != version) {
      return refuse_version("the subnet's mode", *command.if_version, version);
    }
    if (state.mode(command.subnet) == command.mode) return Decision{};
    const auto costs = std::ranges::count_if(state.link_costs->by_link, [&](const auto& one) {
      return subnet_of(state.topology(), one.first) == command.subnet;
    });
    if (command.mode == SubnetMode::opensm && costs > 0) {
      return refuse(
          ErrorKind::conflict, "subnets.linkCosts",
          "routes follow from costs of " + std::to_string(costs) + " of its links, which OpenSM does not know",
          "take them back first: railweave guarantees reroute --reset");
    }
    return Decision{{SubnetModeSet{command.subnet, command.mode, command.reason}}, {}, false};
  }

  Outcome operator()(const RequestDrain& command) const {
    if (state.drains->contains(command.target)) return Decision{};
    if (command.view_version != state.view_version) {
      return refuse(ErrorKind::conflict, "drains.viewChanged",
                    "the fabric changed while the drain of " + to_string(command.target) + " was looked at",
                    "ask again");
    }
    if (!command.objections.empty() && !command.force) {
      std::string all;
      for (const auto& objection : command.objections) all += (all.empty() ? "" : "; ") + objection;
      return refuse(ErrorKind::conflict, std::string(drain_area(command.target.kind)) + ".drainRefused",
                    "draining " + to_string(command.target) + " is not safe: " + all,
                    "mend that first, or repeat it with force");
    }
    return Decision{{DrainRequested{command.target, command.reason, command.force}}, {}, false};
  }

  Outcome operator()(const ClearDrain& command) const {
    if (!state.drains->contains(command.target)) {
      return refuse(ErrorKind::notFound, "drains.notFound", to_string(command.target) + " is not drained",
                    "GET /v1/drains lists the drains");
    }
    return Decision{{DrainCleared{command.target, command.reason}}, {}, false};
  }

  Outcome operator()(const SetLinkCosts& command) const {
    if (command.by_link == state.link_costs->by_link) return Decision{};
    const auto changed = [&] {
      return refuse(ErrorKind::conflict, "routes.viewChanged", "the fabric changed while other routes were looked for",
                    "ask again");
    };
    if (command.view_version != state.view_version) return changed();
    for (const auto& [link, cost] : command.by_link) {
      const auto subnet = subnet_of(state.topology(), link);
      if (subnet.empty()) return changed();
      if (state.mode(subnet) != SubnetMode::opensm) continue;
      return refuse(
          ErrorKind::conflict, "routes.openSmRoutes",
          "link " + link + " is of subnet " + std::string(subnet) + ", which OpenSM routes: it knows no costs",
          "take the subnet to direct mode");
    }
    return Decision{with_alarm({command.by_link, command.reason}), {}, false};
  }

  Outcome operator()(const ReportLinks& command) const {
    std::vector<EventBody> events;
    LinksChanged changed{command.subnet, {}};
    for (const auto& report : command.links) {
      const auto link = state.topology().find_link(report.link);
      if (!link || state.view.state(link) == report.state) continue;
      changed.links.push_back(report);
      if (changed.links.size() < LinksChanged::kMaxLinks) continue;
      events.emplace_back(std::exchange(changed, {command.subnet, {}}));
    }
    if (!changed.links.empty()) events.emplace_back(std::move(changed));
    return Decision{std::move(events), {}, false};
  }

  Outcome operator()(const ReportDrains& command) const {
    std::vector<EventBody> events;
    for (const auto& report : command.drains) {
      const auto drain = state.drains->find(report.target);
      if (drain != state.drains->end() && drain->second.state != report.state) events.emplace_back(report);
    }
    return Decision{std::move(events), {}, false};
  }

  Outcome operator()(const ReportAlarms& command) const {
    std::vector<EventBody> events;
    for (const auto& alarm : command.raised) {
      const auto present = state.alarms->find(alarm.id());
      const bool same = present != state.alarms->end() && present->second.severity == alarm.severity &&
                        present->second.text == alarm.text;
      if (!same) events.emplace_back(AlarmRaised{alarm});
    }
    for (const auto& id : command.cleared) {
      if (state.alarms->contains(id)) events.emplace_back(AlarmCleared{id});
    }
    return Decision{std::move(events), {}, false};
  }

  Outcome operator()(const ReportQos& command) const { return Decision{{command.report}, {}, false}; }
  Outcome operator()(const ReportProgramming& command) const { return Decision{{command.report}, {}, false}; }

  // Jobs that wait and reservations name their tenant.
  [[nodiscard]] std::optional<std::string> still_used(const std::string& tenant) const {
    for (const auto& [name, reservation] : *state.reservations) {
      if (reservation.window.tenant == tenant) return "reservation '" + name + "' is for tenant " + tenant;
    }
    std::optional<std::string> why;
    state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (job->state == JobState::queued && job->spec.tenant == tenant) why = to_string(job->id) + " of it waits";
      return !why;
    });
    return why;
  }
  Outcome operator()(const PutContract& command) const { return decide_contract(state, command, placers); }
  Outcome operator()(const RemoveContract& command) const { return decide_contract(state, command); }
  Outcome operator()(const PutQosClasses& command) const { return decide_contract(state, command, placers); }

  static std::string_view drain_area(DrainKind kind) {
    constexpr std::array<std::string_view, 3> areas = {"links", "switches", "nodes"};
    return areas[static_cast<std::size_t>(kind)];
  }
};

}  // namespace

std::expected<Decision, Rejection> decide(const ClusterState& state, const Command& command, std::int64_t now_us,
                                          PlacerCache& placers, QueueRunner& queue) {
  auto decision = std::visit(Decide{state, now_us, placers, queue}, command.body);
  if (decision) add_guarantee_changes(state, decision->events, placers.guarantees(), now_us);
  return decision;
}

}  // namespace railweave::control
