#include "services/control/events/apply.h"

#include <algorithm>
#include <utility>

#include "fabric/base/check.h"
#include "fabric/topology/site_link_name.h"
#include "scheduler/placement/score/summary.h"
#include "services/control/state/service_levels.h"

namespace railweave::control {
namespace {

template <class T, class Change>
void change(std::shared_ptr<const T>& table, Change apply_change) {
  auto changed = std::make_shared<T>(*table);
  apply_change(*changed);
  table = std::move(changed);
}

void drop_oldest_ended(ClusterState& state, std::int64_t now_us) {
  if (state.ended->size() <= ClusterState::kMaxEndedJobs) return;
  change(state.ended, [&](auto& ended) {
    const JobPtr oldest = state.jobs.find(ended.front());
    if (!oldest->idempotency_key.empty()) state.idempotency.drop_job(oldest->idempotency_key, now_us);
    state.jobs.erase(oldest->id);
    ended.pop_front();
  });
}

struct Apply {
  ClusterState& state;
  const Event& event;

  void operator()(const TopologyAccepted& body) const {
    const fabric::TopologyPtr before = state.accepted.topology;
    const auto keys_before = state.host_keys;
    std::shared_ptr<const AcceptedTopology> intended;
    if (!body.as_cabled.empty()) {
      intended =
          state.accepted.intended ? state.accepted.intended : std::make_shared<const AcceptedTopology>(state.accepted);
      if (intended->digest == body.digest) intended.reset();
    }
    state.accepted = {before, body.digest, body.source, event.seq, std::move(intended)};
    rename_drains(body.renamed);
    state.set_topology(body.topology);
    state.view_version = event.seq;
    // Jobs keep their nodes and GPUs; decide() has moved or ended the jobs that the new fabric cannot hold.
    std::vector<JobPtr> moved;
    state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      auto renamed = std::make_shared<Job>(*job);
      if (job->holds_gpus()) {
        const auto gpus = map_gpus(*before, *body.topology, job->placement.gpu_of_rank, body.renamed);
        RAILWEAVE_CHECK(gpus.has_value(), "decide() ends the jobs that a new fabric cannot hold");
        renamed->placement.gpu_of_rank = *gpus;
        // Idle GPUs that the new fabric lacks are dropped: no rank runs there.
        renamed->placement.idle_gpus.clear();
        for (const auto gpu : job->placement.idle_gpus) {
          if (const auto idle = map_gpus(*before, *body.topology, {gpu}, body.renamed))
            renamed->placement.idle_gpus.push_back(idle->front());
        }
        std::ranges::sort(renamed->placement.idle_gpus);
        scheduler::summarize(state.placement_fabric->as_cabled(), job->spec.parallelism, renamed->placement);
        renamed->nodes = node_names(*body.topology, renamed->placement.gpu_of_rank);
      } else {
        renamed->placement.gpu_of_rank.clear();
        renamed->placement.idle_gpus.clear();
      }
      moved.push_back(std::move(renamed));
      return true;
    });
    for (const auto& job : moved) {
      state.jobs.put(job);
      if (job->holds_gpus()) state.hold_gpus(*job, true);
    }
    keep_indices(*before, keys_before);
    change(state.reservations, [&](auto& reservations) {
      for (auto& [name, reservation] : reservations) {
        std::vector<fabric::GpuId> kept;  // GPUs that the new fabric still has
        for (const auto gpu : reservation.window.gpus) {
          if (const auto mapped = map_gpus(*before, *body.topology, {gpu}, body.renamed))
            kept.push_back(mapped->front());
        }
        std::ranges::sort(kept);
        reservation.window.gpus = std::move(kept);
        for (auto& node : reservation.drained) node = fabric::name_after(body.renamed, node);
        std::erase(reservation.drained, "");
      }
    });
    state.queue_version = event.seq;
  }

  // Drains follow the nodes that they are of.
  void rename_drains(const fabric::RenamedHosts& renamed) const {
    if (renamed.empty() || state.drains->empty()) return;
    change(state.drains, [&](auto& drains) {
      DrainTable kept;
      for (const auto& [target, drain] : drains) {
        const auto now = renamed_target(target, renamed);
        if (!now) continue;
        Drain moved = drain;
        moved.target = *now;
        if (*now != target) moved.version = event.seq;
        kept.insert_or_assign(*now, std::move(moved));
      }
      drains = std::move(kept);
    });
  }

  void operator()(const TopologyDiffers&) const {}

  void operator()(const TenantPut& body) const {
    change(state.tenants, [&](auto& tenants) {
      Tenant tenant = body.tenant;
      tenant.version = event.seq;
      tenants.insert_or_assign(tenant.name, std::move(tenant));
    });
    state.queue_version = event.seq;
  }

  void operator()(const TenantRemoved& body) const {
    change(state.tenants, [&](auto& tenants) { tenants.erase(body.name); });
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
    }
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
      job.note({event.time_us, event.seq, JobState::queued, body.text, event.actor});
    });
  }

  void operator()(const JobEvicted& body) const {
    change_job(body.id, [&](Job& job) { queue_again(job, body.reason); });
    state.queue_version = event.seq;
  }

  void operator()(const OfferExpired& body) const {
    change_job(body.id, [&](Job& job) {
      queue_again(job, body.reason);
      job.not_before_us = std::max(job.not_before_us, body.until_us);
      ++job.launch->expired;
    });
    state.queue_version = event.seq;
  }

  void operator()(const JobAccepted& body) const { enter(body.id, LaunchPhase::accepted, "accepted by its launcher"); }

  void operator()(const JobRunning& body) const { enter(body.id, LaunchPhase::running, "its processes run"); }

  void operator()(const JobReleasing& body) const {
    change_job(body.id, [&](Job& job) {
      Launch& launch = *job.launch;
      launch.becomes = body.becomes;
      launch.in_favour_of = body.in_favour_of;
      launch.lost_gpu_s = body.lost_gpu_s;
      launch.reason = body.reason;
      if (launch.phase != LaunchPhase::releasing) launch.enter(LaunchPhase::releasing, event.time_us);
      job.note({event.time_us, event.seq, JobState::placed, releasing_text(body), event.actor});
    });
    state.queue_version = event.seq;
  }

  void operator()(const JobFreed& body) const {
    change_job(body.id, [&](Job& job) {
      auto& freed = job.launch->freed;
      freed.insert(freed.end(), body.nodes.begin(), body.nodes.end());
    });
  }

  void operator()(const JobOverdue& body) const {
    change_job(body.id, [&](Job& job) {
      job.launch->overdue = true;
      job.launch->deadline_us = 0;
      job.note({event.time_us, event.seq, JobState::placed, "its GPUs are not free in time", event.actor});
    });
    state.queue_version = event.seq;
  }

  void operator()(const JobMoved& body) const {
    change_job(body.id, [&](Job& job) {
      const Job from = job;
      job.placement.gpu_of_rank = body.gpu_of_rank;
      job.placement.idle_gpus = body.idle_gpus;
      scheduler::summarize(state.placement_fabric->as_cabled(), job.spec.parallelism, job.placement);
      job.placement.predicted = body.predicted;
      job.nodes = node_names(state.topology(), body.gpu_of_rank);
      job.damage.clear();
      job.damaged_us = 0;
      state.move_gpus(from, job);
      job.note({event.time_us, event.seq, JobState::placed, body.reason, event.actor});
    });
    state.queue_version = event.seq;
  }

  void operator()(const JobDamaged& body) const {
    change_job(body.id, [&](Job& job) {
      job.damage = body.damage;
      if (body.damage.empty()) {
        job.damaged_us = 0;
      } else if (job.damaged_us == 0) {
        job.damaged_us = event.time_us;
      }
      job.note({event.time_us, event.seq, JobState::placed, body.damage.empty() ? "all its GPUs are back" : body.damage,
                event.actor});
    });
  }

  void operator()(const JobCheckpointed& body) const {
    change_job(body.id, [&](Job& job) { job.saved_us = body.saved_us; });
  }

  // alarm_events.h, job_changes.h, subnet_events.h, webhook_events.h
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
    state.queue_version = event.seq;
    job->waits.clear();
    job->damage.clear();
    job->damaged_us = 0;
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
    state.view_version = state.queue_version = event.seq;
  }

  void operator()(const LinkCostsSet& body) const {
    state.put_costs({body.by_link, body.reason, event.actor, event.time_us, event.seq});
    state.view_version = state.queue_version = event.seq;
  }

  void operator()(const LinksChanged& body) const {
    for (const auto& report : body.links) {
      if (const auto link = state.topology().find_link(report.link)) {
        state.set_link(link, report.state);
      } else if (const auto far = fabric::find_site_link(state.topology(), report.link)) {
        state.view.set_state(far, report.state, report.links_up);
      }
    }
    state.rejoin_sites();
    state.view_version = state.queue_version = event.seq;
  }

  void enter(JobId id, LaunchPhase phase, const char* text) const {
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

  void queue_again(Job& job, const std::string& reason) const {
    release_gpus(job);
    job.placement = {};
    job.nodes.clear();
    job.guarantee.reset();
    job.state = JobState::queued;
    job.started_us = job.saved_us = 0;
    job.earlier_levels = 0;
    job.damage.clear();
    job.damaged_us = 0;
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

  // Hosts keep their indices by name.
  void keep_indices(const fabric::Topology& before, const ChunkedVector<HostKeys>& keys_before) const {
    for (std::size_t i = 0; i < keys_before.size(); ++i) {
      if (keys_before[i].empty()) continue;
      const auto host = state.topology().find_host(before.name(before.hosts()[i]));
      if (!host || state.allocations[host.index()].used == 0) continue;
      std::vector<std::uint16_t> pkeys;
      for (const auto& slot : keys_before[i].slots) pkeys.push_back(slot.pkey);
      HostKeys& keys = state.host_keys.write(host.index());
      keys.arrange(pkeys);
      keys.limited = keys_before[i].limited;
    }
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
  void operator()(const QosProgrammed&) const {}
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
      job->note({event.time_us, event.seq, job->state, "guarantee at risk: " + body.guarantee->reason, event.actor});
    } else if (body.change == GuaranteeChange::restored) {
      job->note({event.time_us, event.seq, job->state,
                 "guarantee holds again, after " + std::to_string(body.for_us / 1'000'000) + " s", event.actor});
    } else if (body.change == GuaranteeChange::lane_changed) {
      job->note({event.time_us, event.seq, job->state,
                 "has another lane of its own: " + std::to_string(body.guarantee->lane.value_or(0)), event.actor});
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
}

}  // namespace railweave::control
