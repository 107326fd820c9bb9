#include "services/control/events/apply.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "fabric/topology/site_link_name.h"
#include "scheduler/placement/score/summary.h"
#include "services/control/events/changed_table.h"
#include "services/control/events/left_gpus.h"
#include "services/control/events/move_changes.h"
#include "services/control/events/topology_change.h"
#include "services/control/state/cluster_state.h"
#include "services/control/state/service_levels.h"

namespace railweave::control {
namespace {

// The oldest of whoever has most, so that no tenant's jobs go because another one has many.
std::set<JobId> ended_to_drop(const ClusterState& state, std::size_t count) {
  std::map<std::string_view, std::deque<JobId>> of_tenants;
  for (const JobId id : *state.ended) of_tenants[state.jobs.find(id)->spec.tenant].push_back(id);
  std::set<JobId> dropped;
  while (dropped.size() < count) {
    auto& most =
        std::ranges::max_element(of_tenants, {}, [](const auto& entry) { return entry.second.size(); })->second;
    dropped.insert(most.front());
    most.pop_front();
  }
  return dropped;
}

void drop_oldest_ended(ClusterState& state, std::int64_t now_us) {
  constexpr std::size_t kAtOnce = 64;  // tenants' jobs are counted once for 64 that go
  if (state.ended->size() <= ClusterState::kMaxEndedJobs) return;
  const auto dropped = ended_to_drop(state, kAtOnce);
  for (const JobId id : dropped) {
    const JobPtr job = state.jobs.find(id);
    if (!job->idempotency_key.empty()) state.idempotency.drop_job({job->key_owner, job->idempotency_key}, now_us);
    state.jobs.erase(id);
    state.steps.erase(id);
  }
  change(state.ended, [&](auto& ended) { std::erase_if(ended, [&](JobId id) { return dropped.contains(id); }); });
}

struct Apply {
  ClusterState& state;
  const Event& event;

  void operator()(const TopologyAccepted& body) const { apply_topology(state, body, event); }
  void operator()(const TopologyDiffers&) const {}

  void operator()(const TenantPut& body) const {
    change(state.tenants, [&](auto& tenants) {
      Tenant tenant = body.tenant;
      tenant.version = event.seq;
      const auto before = tenants.find(tenant.name);
      tenant.created = before == tenants.end() ? event.seq : before->second.created;
      tenant.first_job = before == tenants.end() ? state.jobs.next_id().number() : before->second.first_job;
      tenants.insert_or_assign(tenant.name, std::move(tenant));
    });
    state.queue_version = event.seq;
  }

  void operator()(const TenantRemoved& body) const {
    change(state.tenants, [&](auto& tenants) { tenants.erase(body.name); });
    auto used = std::make_shared<scheduler::FairShare>(*state.used);
    used->forget(body.name);
    state.used = std::move(used);
    // Stores of earlier versions have webhooks that outlived their tenant.
    change(state.webhooks, [&](auto& webhooks) {
      std::erase_if(webhooks, [&](const auto& entry) { return entry.second.tenant == body.name; });
    });
  }

  void operator()(const TokenIssued& body) const {
    change(state.access_tokens, [&](auto& tokens) {
      AccessToken token = body.token;
      token.version = event.seq;
      token.issued_by = event.actor;
      token.issued_us = event.time_us;
      tokens.insert_or_assign(token.id, std::move(token));
    });
  }

  void operator()(const TokenRevoked& body) const {
    change(state.access_tokens, [&](auto& tokens) { tokens.erase(body.id); });
  }

  void operator()(const LeaderBegan& body) const { state.leader = {body.name, body.url, event.term, event.time_us}; }

  void operator()(const JobQueued& body) const {
    auto job = std::make_shared<Job>(*body.job);
    job->version = event.seq;
    job->state = JobState::queued;
    job->history.clear();
    job->note({event.time_us, event.seq, JobState::queued, "", event.actor});
    state.queue_version = event.seq;
    state.restore(std::move(job));
  }

  void operator()(const JobPlaced& body) const {
    auto job = std::make_shared<Job>(*body.job);
    const JobPtr before = state.jobs.find(job->id);
    job->history.clear();
    if (before != nullptr) {
      RAILWEAVE_CHECK(before->state == JobState::queued, "a job is placed once at a time");
      job->history = before->history;
      if (before->move) state.hold_place(*before, false);
    }
    job->move.reset();
    job->version = event.seq;
    job->state = JobState::placed;
    job->started_us = event.time_us;
    job->saved_us = 0;
    job->waits.clear();
    if (job->launch) job->launch->enter(LaunchPhase::offered, event.time_us);
    if (job->launch && job->adopted) job->launch->enter(LaunchPhase::running, event.time_us);  // it runs already
    job->note({event.time_us, event.seq, JobState::placed, body.reason, event.actor});
    if (job->guarantee) job->guarantee->admitted_seq = event.seq;
    state.queue_version = event.seq;
    state.restore(std::move(job));
  }

  void operator()(const JobWaits& body) const {
    change_job(body.id, [&](Job& job) {
      job.waits = body.code;
      if (body.place_until_us != 0) job.queue.place_until_us = body.place_until_us;
      job.note({event.time_us, event.seq, JobState::queued, body.text, event.actor});
    });
  }

  void operator()(const JobEvicted& body) const {
    change_job(body.id, [&](Job& job) {
      // One that moves is placed where its new GPUs are held for it.
      if (job.move && !(job.move->accepted && job.is_releasing())) drop_move(state, job);
      queue_again(job, body.reason);
    });
    state.queue_version = event.seq;
  }

  void operator()(const OfferExpired& body) const {
    change_job(body.id, [&](Job& job) {
      drop_move(state, job);
      queue_again(job, body.reason);
      job.not_before_us = std::max(job.not_before_us, body.until_us);
      ++job.launch->expired;
    });
    state.queue_version = event.seq;
  }

  void operator()(const JobAccepted& body) const {
    enter(body.id, LaunchPhase::accepted, Message("launch.accepted", {"accepted by its launcher"}));
    ;
  }

  void operator()(const JobRunning& body) const {
    enter(body.id, LaunchPhase::running, Message("launch.running", {"its processes run"}));
    ;
  }

  void operator()(const JobReleasing& body) const {
    change_job(body.id, [&](Job& job) {
      Launch& launch = *job.launch;
      launch.becomes = body.becomes;
      launch.in_favour_of = body.in_favour_of;
      launch.lost_gpu_s = body.lost_gpu_s;
      launch.reason = body.reason;
      if (body.moves) {
        state.charge_move({event.time_us, body.lost_gpu_s});
      } else {
        drop_move(state, job);
      }
      if (launch.phase != LaunchPhase::releasing) launch.enter(LaunchPhase::releasing, event.time_us);
      job.note({event.time_us, event.seq, JobState::placed, releasing_text(body), event.actor});
    });
    state.queue_version = event.seq;
  }

  void operator()(const JobFreed& body) const {
    change_job(body.id, [&](Job& job) {
      if (job.is_releasing()) {
        auto& freed = job.launch->freed;
        freed.insert(freed.end(), body.nodes.begin(), body.nodes.end());
      }
      if (free_left(state, job, body.nodes)) state.queue_version = event.seq;
    });
  }

  void operator()(const JobOverdue& body) const {
    change_job(body.id, [&](Job& job) {
      job.launch->overdue = true;
      job.launch->deadline_us = 0;
      job.note({event.time_us, event.seq, JobState::placed,
                Message("launch.overdue", {"its GPUs are not free in time"}), event.actor});
    });
    state.queue_version = event.seq;
  }

  void operator()(const JobMoved& body) const {
    change_job(body.id, [&](Job& job) {
      drop_move(state, job);
      const Job from = job;
      job.placement.gpu_of_rank = body.gpu_of_rank;
      job.placement.idle_gpus = body.idle_gpus;
      job.placement.cpu_seats = body.cpu_seats;
      scheduler::summarize(state.placement_fabric->as_cabled(), job.spec.parallelism, job.placement);
      job.placement.predicted = body.predicted;
      job.nodes = node_names(state.topology(), body.gpu_of_rank);
      job.damage.clear();
      job.damaged_us = 0;
      job.lost.clear();
      state.move_gpus(from, job);
      if (!body.left.empty()) leave(state, job, body.left, event.time_us);
      job.note({event.time_us, event.seq, JobState::placed, body.reason, event.actor});
    });
    state.queue_version = event.seq;
  }

  void operator()(const JobDamaged& body) const {
    change_job(body.id, [&](Job& job) {
      job.damage = body.damage;
      for (const auto& gpu : body.lost) {
        if (std::ranges::find(job.lost, gpu) == job.lost.end()) job.lost.push_back(gpu);
      }
      if (body.damage.empty()) {
        job.damaged_us = 0;
        job.lost.clear();
      } else if (job.damaged_us == 0) {
        job.damaged_us = event.time_us;
      }
      job.note({event.time_us, event.seq, JobState::placed,
                body.damage.empty() ? Message("job.whole", {"all its GPUs are back"}) : body.damage, event.actor});
    });
  }

  void operator()(const JobCheckpointed& body) const {
    change_job(body.id, [&](Job& job) { job.saved_us = body.saved_us; });
  }

  // alarm_events.h, job_changes.h, step_events.h, subnet_events.h, webhook_events.h
  template <class Body>
    requires requires(ClusterState& any, const Body& body, const Event& with) { apply_change(any, body, with); }
  void operator()(const Body& body) const {
    apply_change(state, body, event);
  }

  void operator()(const QueueRulesPut& body) const {
    auto rules = std::make_shared<QueueRules>(QueueRules{body.policy, event.seq});
    if (body.policy.half_life_us != state.used->half_life_us()) {
      auto used = std::make_shared<scheduler::FairShare>(body.policy.half_life_us);
      for (const auto& [tenant, usage] : state.used->tenants()) used->restore(tenant, usage);
      state.used = std::move(used);
    }
    state.queue_rules = std::move(rules);
    state.queue_version = event.seq;
  }

  void operator()(const ReservationPut& body) const {
    change(state.reservations, [&](auto& reservations) {
      GpuReservation reservation = body.reservation;
      reservation.version = event.seq;
      reservations.insert_or_assign(reservation.window.name, std::move(reservation));
    });
    state.queue_version = event.seq;
  }

  void operator()(const MaintenanceBegan& body) const {
    change(state.reservations, [&](auto& reservations) {
      GpuReservation& reservation = reservations.at(body.name);
      reservation.begun = true;
      reservation.drained = body.drained;
      reservation.version = event.seq;
    });
  }

  void operator()(const ReservationRemoved& body) const {
    change(state.reservations, [&](auto& reservations) { reservations.erase(body.name); });
    state.queue_version = event.seq;
  }

  void operator()(const JobEnded& body) const {
    const JobPtr before = state.jobs.find(body.id);
    RAILWEAVE_CHECK(before != nullptr && !before->has_ended(), "a job ends once");
    auto job = std::make_shared<Job>(*before);
    if (before->holds_gpus()) release_gpus(*job);
    drop_move(state, *job);
    drop_left(state, *job);
    state.queue_version = event.seq;
    job->waits.clear();
    job->damage.clear();
    job->damaged_us = 0;
    job->lost.clear();
    job->state = body.state;
    if (job->launch) job->launch->deadline_us = 0;
    job->ended_us = event.time_us;
    job->version = event.seq;
    job->note({event.time_us, event.seq, body.state, body.reason, event.actor});
    if (job->guarantee && job->guarantee->at_risk()) {
      job->guarantee->at_risk_total_us = job->guarantee->at_risk_us(event.time_us);
      job->guarantee->at_risk_since_us = 0;
    }
    state.jobs.put(std::move(job));
    change(state.ended, [&](auto& ended) { ended.push_back(body.id); });
    drop_oldest_ended(state, event.time_us);
  }

  void operator()(const DrainRequested& body) const {
    change(state.drains, [&](auto& drains) {
      drains.insert_or_assign(body.target, Drain{body.target, DrainState::requested, body.reason, event.actor,
                                                 body.forced, event.time_us, event.time_us, event.seq, body.follows});
    });
    state.mark(body.target, true);
    state.refresh_cut_off();
    state.view_version = state.queue_version = event.seq;
  }

  void operator()(const DrainAdvanced& body) const {
    change(state.drains, [&](auto& drains) {
      Drain& drain = drains.at(body.target);
      drain.state = body.state;
      drain.changed_us = event.time_us;
      drain.version = event.seq;
    });
  }

  void operator()(const DrainCleared& body) const {
    change(state.drains, [&](auto& drains) { drains.erase(body.target); });
    state.mark(body.target, false);
    state.refresh_cut_off();
    state.view_version = state.queue_version = event.seq;
  }

  void operator()(const LinkCostsSet& body) const {
    state.put_costs({body.by_link, body.reason, event.actor, event.time_us, event.seq});
    state.view_version = state.queue_version = event.seq;
  }

  void operator()(const LinksChanged& body) const {
    for (const auto& report : body.links) {
      if (const auto link = state.topology().find_link(report.link)) {
        state.set_link(link, report.state, report.rate);
      } else if (const auto far = fabric::find_site_link(state.topology(), report.link)) {
        state.view.set_state(far, report.state, report.links_up);
      }
    }
    state.rejoin_sites();
    state.refresh_cut_off();
    state.view_version = state.queue_version = event.seq;
  }

  void enter(JobId id, LaunchPhase phase, const Message& text) const {
    change_job(id, [&](Job& job) {
      job.launch->enter(phase, event.time_us);
      job.note({event.time_us, event.seq, JobState::placed, text, event.actor});
    });
    state.queue_version = event.seq;
  }

  // Ranks keep the service level that they were started with.
  void keep_level(Job& job, std::uint16_t had) const {
    const unsigned has = service_level_bit(*state.qos_classes, job.guarantee);
    job.earlier_levels = static_cast<std::uint16_t>((job.earlier_levels | had) & ~has);
    state.note_relabelled(job.id, job.earlier_levels != 0);
  }

  void queue_again(Job& job, const Message& reason) const {
    release_gpus(job);
    drop_left(state, job);
    job.placement = {};
    job.nodes.clear();
    job.guarantee.reset();
    job.state = JobState::queued;
    job.queue.place_until_us = 0;
    job.started_us = job.saved_us = 0;
    job.earlier_levels = 0;
    job.damage.clear();
    job.damaged_us = 0;
    job.lost.clear();
    if (job.launch) job.launch->deadline_us = 0;
    job.note({event.time_us, event.seq, JobState::queued, reason, event.actor});
  }

  template <class Change>
  void change_job(JobId id, Change apply_change) const {
    const JobPtr before = state.jobs.find(id);
    RAILWEAVE_CHECK(before != nullptr, "the job of an event exists");
    auto job = std::make_shared<Job>(*before);
    apply_change(*job);
    job->version = event.seq;
    state.jobs.put(std::move(job));
  }

  // Frees the job's GPUs and charges the time it held them to its tenant.
  void release_gpus(const Job& job) const {
    state.hold_gpus(job, false);
    change(state.used, [&](auto& used) {
      used.charge(job.spec.tenant, job.placement.held_gpus().size(), job.started_us, event.time_us);
    });
  }

  void operator()(const PortLimitsRead& body) const {
    change(state.port_limits, [&](auto& limits) { limits.insert_or_assign(body.subnet, body.limits); });
  }
  // Placements, damage and guarantees are judged again by the tables that are in force now.
  void operator()(const SubnetTablesReported& body) const {
    change(state.subnet_tables, [&](auto& tables) {
      SubnetTables& now = tables[body.subnet];
      std::int64_t levels_since_us = now.levels == body.tables.levels ? now.levels_since_us : event.time_us;
      // Tables that need levels are written when no job is left that may send by others.
      if (body.tables.source == TablesSource::wanted) levels_since_us = 0;
      now = body.tables;
      now.levels_since_us = levels_since_us;
      now.since_us = event.time_us;
      now.version = event.seq;
    });
    state.queue_version = event.seq;
  }
  void operator()(const QosProgrammed&) const {}
  void operator()(const LinkReleased&) const {}      // flaps are counted by the live subnet, and no part of the state
  void operator()(const RoutesProgrammed&) const {}  // what switches hold is observed, not part of the state

  void operator()(const ContractPut& body) const {
    const bool is_new = !state.contracts->contains(body.terms.tenant);
    change(state.contracts, [&](auto& contracts) {
      contracts.insert_or_assign(body.terms.tenant, TenantContract{body.terms, body.pkey, event.seq});
    });
    if (is_new) state.put_keys(body.terms.tenant, body.pkey, true);
  }

  void operator()(const ContractRemoved& body) const {
    if (const auto present = state.contracts->find(body.tenant); present != state.contracts->end()) {
      state.put_keys(body.tenant, present->second.pkey, false);
    }
    change(state.contracts, [&](auto& contracts) { contracts.erase(body.tenant); });
  }

  void operator()(const QosClassesPut& body) const {
    const auto before = std::exchange(state.qos_classes, std::make_shared<const fabric::QosClasses>(body.classes));
    state.qos_version = event.seq;
    for (const JobId id : *state.guaranteed) {
      const JobPtr job = state.jobs.find(id);
      const std::uint16_t had = service_level_bit(*before, job->guarantee);
      if (service_level_bit(*state.qos_classes, job->guarantee) == had) continue;
      auto relabelled = std::make_shared<Job>(*job);
      keep_level(*relabelled, had);
      relabelled->version = event.seq;
      relabelled->note({event.time_us, event.seq, job->state,
                        Message("guarantee.remarked", {"other classes: its ranks have to start again to send in " +
                                                       job->guarantee->qos_class}),
                        event.actor});
      state.jobs.put(std::move(relabelled));
    }
  }

  void operator()(const GuaranteeChanged& body) const {
    const JobPtr before = state.jobs.find(body.job);
    RAILWEAVE_CHECK(before != nullptr && before->holds_gpus(), "only placed jobs have guarantees that change");
    auto job = std::make_shared<Job>(*before);
    job->guarantee = body.guarantee;
    keep_level(*job, service_level_bit(*state.qos_classes, before->guarantee));
    if (job->guarantee && job->guarantee->admitted_seq == 0) job->guarantee->admitted_seq = event.seq;
    if (body.change == GuaranteeChange::at_risk) {
      job->note({event.time_us, event.seq, job->state,
                 ("guarantee at risk: " + body.guarantee->reason).with_code("guarantee.atRisk"), event.actor});
    } else if (body.change == GuaranteeChange::restored) {
      job->note(
          {event.time_us, event.seq, job->state,
           Message("guarantee.restored", {fmt::format("guarantee holds again, after {} s", body.for_us / 1'000'000)}),
           event.actor});
    } else if (body.change == GuaranteeChange::lane_changed) {
      job->note({event.time_us, event.seq, job->state,
                 Message("guarantee.laneChanged",
                         {fmt::format("has another lane of its own: {}", body.guarantee->lane.value_or(0))}),
                 event.actor});
    }
    job->version = event.seq;
    state.jobs.put(std::move(job));
    state.note_guarantee(body.job, body.guarantee.has_value());
  }
};

}  // namespace

void apply(ClusterState& state, const Event& event) {
  RAILWEAVE_CHECK(event.seq == state.seq + 1, "events apply in sequence");
  std::visit(Apply{state, event}, event.body);
  state.seq = event.seq;
  state.term = event.term;
  state.time_us = std::max(state.time_us, event.time_us);
}

}  // namespace railweave::control
