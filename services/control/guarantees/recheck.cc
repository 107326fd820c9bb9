#include "services/control/guarantees/recheck.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/capacity/lane_owners.h"
#include "fabric/qos/port_promises.h"
#include "fabric/topology/site_link_name.h"
#include "scheduler/admission/bandwidth_admission.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/alarms.h"
#include "services/control/guarantees/coverage.h"
#include "services/control/guarantees/job_repair.h"
#include "services/control/guarantees/port_rules.h"
#include "services/control/guarantees/role_senders.h"
#include "services/control/views/site_link_jobs.h"

namespace railweave::control {
namespace {

using fabric::FullLink;
using fabric::Ledger;
using fabric::ReservationPtr;

// A guarantee during the recheck.
struct Standing {
  JobPtr job;
  ReservationPtr reservation;  // as in the ledger; null: at risk
  bool covered = false;
  Message reason;
  std::vector<std::string> links;
};

class Recheck {
 public:
  Recheck(const ClusterState& after, GuaranteeBook& book) : after_(after), book_(book), ledger_(book.ledger()) {
    for (const JobId id : *after.guaranteed) {
      Standing standing{after.jobs.find(id), nullptr, false, {}, {}};
      const JobGuarantee& guarantee = *standing.job->guarantee;
      if (guarantee.lane && !owned_lanes_) owned_lanes_ = owned_lanes(after, book.classes(), book);
      const auto held = ledger_.reservations_of(to_string(id));
      if (!held.empty()) standing.reservation = held.front();
      standing.covered = guarantee.covered;
      standing.reason = guarantee.reason;
      standing.links = guarantee.links;
      if (standing.reservation == nullptr) at_risk_.insert(id);
      standings_.emplace(id, std::move(standing));
    }
    // Where ports can hold no tables for the classes at all, they keep those that they have.
    if (const auto rules = ports_hold(after, book.classes(), book); rules && rules->known) {
      promises_.emplace(book.classes(), rules->arbitration, rules->routing.lanes);
    }
  }

  // 1. A reservation for failures is used up when the routes it was computed for no longer exist. elsewhere: jobs that send to
  // a role which is not where it was; theirs was computed for other ports.
  void use_up_coverage(bool rerouted, const std::set<JobId>& elsewhere) {
    std::set<JobId> concerned(book_.crossing().begin(), book_.crossing().end());
    // Where another subnet manager's tables are in force now, failures lead to routes that are not known.
    for (const auto& [id, standing] : standings_) {
      if (rerouted && standing.covered && !book_.subnet_seen(*standing.job).empty()) concerned.insert(id);
    }
    for (const JobId id : concerned) {
      const auto at = standings_.find(id);
      if (at == standings_.end() || at->second.reservation == nullptr) continue;
      const bool is_of_other_ports = at->second.covered && elsewhere.contains(id);
      if (is_of_other_ports && !rerouted && cover_now(at->second)) continue;
      if (at->second.covered && (rerouted || is_of_other_ports)) {
        at->second.covered = false;
        auto wanted = book_.plain(*at->second.job);
        (void)ledger_.release(at->second.reservation->job, at->second.reservation->qos_class);
        at->second.reservation = nullptr;
        if (wanted.complete) {
          at->second.reservation = fabric::reserve_beside(ledger_, wanted.reservation);
        } else {
          lapse_cut(at->second);
        }
      } else if (book_.incomplete(id)) {
        (void)ledger_.release(at->second.reservation->job, at->second.reservation->qos_class);
        at->second.reservation = nullptr;
        lapse_cut(at->second);
      }
    }
  }

  // 2. On links with more reserved than their capacity the last guarantees in order lapse until the rest fits. Only
  // recomputed reservations can have overfilled a link.
  void shed() {
    std::set<std::pair<fabric::DirectedLink, std::uint8_t>> full;
    for (const JobId id : book_.crossing()) {
      for (const auto& reservation : ledger_.reservations_of(to_string(id))) {
        for (const auto& load : reservation->loads) {
          if (is_full(load.link, reservation->qos_class)) full.insert({load.link, reservation->qos_class});
        }
      }
    }
    if (full.empty()) return;
    std::vector<ReservationPtr> over;
    for (const auto& reservation : ledger_.reservations()) {
      const bool on_one = std::ranges::any_of(reservation->loads, [&](const fabric::LinkLoad& load) {
        return full.contains({load.link, reservation->qos_class});
      });
      if (on_one) over.push_back(reservation);
    }
    std::ranges::sort(over, [](const ReservationPtr& a, const ReservationPtr& b) {
      return std::pair(a->order, a->job) > std::pair(b->order, b->job);
    });
    for (const auto& reservation : over) {
      const bool helps = std::ranges::any_of(
          reservation->loads, [&](const fabric::LinkLoad& load) { return is_full(load.link, reservation->qos_class); });
      if (!helps) continue;
      (void)ledger_.release(reservation->job, reservation->qos_class);
      Standing& standing = standings_.at(job_of(*reservation));
      standing.reservation = nullptr;
      at_risk_.insert(standing.job->id);
    }
  }

  // 3. The same for what ports can weigh out: less, where links run more slowly or packets are larger. all: ports themselves
  // have changed, else only what was recomputed can be too much.
  void shed_from_ports(bool all) {
    if (!promises_) return;
    std::set<fabric::DirectedLink> full;
    const auto look_at = [&](JobId id) {
      const auto at = standings_.find(id);
      if (at == standings_.end() || at->second.reservation == nullptr) return;
      const ReservationPtr held = at->second.reservation;
      (void)ledger_.release(held->job, held->qos_class);
      for (const FullLink& one : full_ports(*held)) full.insert(one.link);
      ledger_.reserve(held);
    };
    if (all) {
      for (const auto& [id, standing] : standings_) look_at(id);
    } else {
      std::ranges::for_each(book_.crossing(), look_at);
    }
    if (full.empty()) return;
    std::vector<JobPtr> ordered;
    for (const auto& [id, standing] : standings_) {
      if (standing.reservation == nullptr) continue;
      const auto& loads = standing.reservation->loads;
      if (std::ranges::none_of(loads, [&](const fabric::LinkLoad& load) { return full.contains(load.link); })) continue;
      (void)ledger_.release(standing.reservation->job, standing.reservation->qos_class);
      ordered.push_back(standing.job);
    }
    sort_by_order(ordered);
    for (const JobPtr& job : ordered) {
      Standing& standing = standings_.at(job->id);
      if (full_ports(*standing.reservation).empty()) {
        ledger_.reserve(standing.reservation);
      } else {
        standing.reservation = nullptr;
        at_risk_.insert(job->id);
      }
    }
  }

  // 4. Where routes have changed so that two jobs have one lane on a link, or ports have fewer lanes, the first in order
  // keeps its own, and the others get another one or are at risk.
  void separate_lanes() {
    std::set<JobId> concerned;
    for (const auto& [id, standing] : standings_) {
      const auto lane = standing.job->guarantee->lane;
      if (!lane || standing.reservation == nullptr) continue;
      if (standing.reservation->lane == lane && *lane < *owned_lanes_) continue;
      concerned.insert(id);
      for (const fabric::OwnedLoad& one : fabric::owned_loads(ledger_, standing.reservation->loads)) {
        if (one.lane == *lane) concerned.insert(job_of(*one.owner));
      }
    }
    std::vector<JobPtr> ordered;
    for (const JobId id : concerned) {
      const auto& reservation = *standings_.at(id).reservation;
      (void)ledger_.release(reservation.job, reservation.qos_class);
      ordered.push_back(standings_.at(id).job);
    }
    sort_by_order(ordered);
    for (const JobPtr& job : ordered) {
      Standing& standing = standings_.at(job->id);
      const ReservationPtr reservation = std::exchange(standing.reservation, nullptr);
      const auto lane = fabric::free_lane(ledger_, reservation->loads, *owned_lanes_, job->guarantee->lane);
      if (!lane) {
        lapse_lanes(standing, *reservation);
        at_risk_.insert(job->id);
        continue;
      }
      standing.reservation = fabric::with_lane(reservation, lane);
      ledger_.reserve(standing.reservation);
    }
  }

  // 5. Guarantees at risk are reserved again, in order, where they fit.
  void restore() {
    std::vector<JobPtr> waiting;
    for (const JobId id : at_risk_) waiting.push_back(standings_.at(id).job);
    sort_by_order(waiting);
    for (const auto& job : waiting) {
      Standing& standing = standings_.at(job->id);
      standing.covered = false;
      auto wanted = book_.plain(*job);
      if (wanted.reservation == nullptr) {
        lapse_class(standing);
        continue;
      }
      if (!wanted.complete) {
        lapse_cut(standing);
        continue;
      }
      const auto full = ledger_.full_links(wanted.reservation->loads, wanted.reservation->qos_class);
      if (!full.empty()) {
        lapse_full(standing, full);
        continue;
      }
      if (const auto own = job->guarantee->lane) {
        const auto lane = fabric::free_lane(ledger_, wanted.reservation->loads, *owned_lanes_, own);
        if (!lane) {
          lapse_lanes(standing, *wanted.reservation);
          continue;
        }
        wanted.reservation = fabric::with_lane(wanted.reservation, lane);
      }
      if (const auto ports = full_ports(*wanted.reservation); !ports.empty()) {
        lapse_full(standing, ports);
        continue;
      }
      ledger_.reserve(wanted.reservation);
      standing.reservation = std::move(wanted.reservation);
      at_risk_.erase(job->id);
    }
  }

  // 6. Covers failures again if few of them are unknown; the other jobs are left to coverage.h.
  void cover_again() {
    if (!basis_of(after_.view)) return;
    std::size_t budget = kFailuresPerStep;
    for (auto& [id, standing] : standings_) {
      if (standing.reservation == nullptr || standing.covered) continue;
      if (!standing.job->guarantee->survives_link_failure) continue;
      const std::size_t unknown = book_.unknown_failures(*standing.job);
      if (unknown > budget) {
        book_.to_cover().insert_or_assign(id, SIZE_MAX);
        continue;
      }
      budget -= unknown;
      (void)cover_now(standing);
    }
  }

  // 7. What differs from the state, as events.
  std::vector<EventBody> changes(std::int64_t now_us) {
    std::vector<EventBody> events;
    for (auto& [id, standing] : standings_) {
      JobGuarantee now = *standing.job->guarantee;
      GuaranteeChanged event{id, standing.job->spec.tenant, GuaranteeChange::covered, {}, 0};
      const bool lost = standing.reservation == nullptr;
      if (standing.covered != now.covered || basis_.contains(id)) {
        now.covered = standing.covered;
        now.basis = basis_.contains(id) ? basis_[id] : ViewBasis{};
      }
      if (!lost && standing.reservation->lane != now.lane) {
        now.lane = standing.reservation->lane;
        event.change = GuaranteeChange::lane_changed;
      }
      if (lost) {
        now.reason = standing.reason;
        now.links = standing.links;
      }
      if (lost && !now.at_risk()) {
        event.change = GuaranteeChange::at_risk;
        now.at_risk_since_us = now_us;
      } else if (!lost && now.at_risk()) {
        event.change = GuaranteeChange::restored;
        event.for_us = now.at_risk_us(now_us) - now.at_risk_total_us;
        now.at_risk_total_us += event.for_us;
        now.at_risk_since_us = 0;
        now.reason.clear();
        now.links.clear();
      } else if (lost || now == *standing.job->guarantee) {
        continue;  // a new reason for being at risk is no event
      }
      event.guarantee = std::move(now);
      events.emplace_back(std::move(event));
    }
    return events;
  }

 private:
  // On the present routes, in the place of what it has, where that takes little to compute and fits. False: nothing is changed.
  bool cover_now(Standing& standing) {
    const auto basis = basis_of(after_.view);
    if (!basis || book_.unknown_failures(*standing.job) > kFailuresPerStep) return false;
    auto wanted = book_.surviving(*standing.job);
    if (!wanted || !wanted->complete || wanted->reservation == nullptr) return false;
    (void)ledger_.release(standing.reservation->job, standing.reservation->qos_class);
    wanted->reservation = fabric::with_lane(wanted->reservation, standing.reservation->lane);
    const bool fits = ledger_.full_links(wanted->reservation->loads, wanted->reservation->qos_class, 1).empty() &&
                      fabric::lane_is_free(ledger_, *wanted->reservation) && full_ports(*wanted->reservation).empty();
    if (fits) {
      standing.reservation = std::move(wanted->reservation);
      standing.covered = true;
      basis_[standing.job->id] = *basis;
    }
    ledger_.reserve(standing.reservation);
    return fits;
  }
  [[nodiscard]] bool is_full(fabric::DirectedLink link, std::uint8_t qos_class) const {
    return ledger_.reserved_mbps(link, qos_class) > ledger_.limit_mbps(link, qos_class);
  }
  // Links whose ports cannot weigh out the reservation in addition to what is reserved.
  [[nodiscard]] std::vector<FullLink> full_ports(const fabric::Reservation& wanted) {
    if (!promises_) return {};
    return promises_->full_links(after_.topology(), ledger_, {wanted.loads, wanted.qos_class, wanted.lane});
  }

  void sort_by_order(std::vector<JobPtr>& jobs) const {
    std::ranges::sort(
        jobs, {}, [&](const JobPtr& job) { return std::pair(guarantee_order(*after_.queue_rules, *job), job->id); });
  }

  void lapse_lanes(Standing& standing, const fabric::Reservation& reservation) {
    const auto& t = after_.topology();
    standing.links.clear();
    std::vector<MessagePart> holders;
    for (const FullLink& one :
         fabric::crowded_links(ledger_, reservation.loads, reservation.qos_class, JobGuarantee::kMaxLinks)) {
      if (standing.links.empty()) {
        for (const auto& holder : one.holders) holders.push_back(job_part(holder.job));
      }
      standing.links.push_back(scheduler::directed_link_text(t, one.link));
    }
    if (standing.links.empty()) {
      standing.reason = Message("guarantee.noLane", {"ports have no lanes left that a job could have of its own"});
      return;
    }
    standing.reason = Message("guarantee.noLane", {"no lane of its own is free on its routes: on ",
                                                   LinkPart{standing.links.front()}, " they are of "});
    append_list(standing.reason, std::move(holders));
  }

  static void lapse_class(Standing& standing) {
    standing.links.clear();
    standing.reason =
        Message("guarantee.noClass", {"there is no class " + standing.job->guarantee->qos_class + " any more"});
  }

  void lapse_cut(Standing& standing) {
    at_risk_.insert(standing.job->id);
    standing.reason = Message("guarantee.cutOff", {between_roles_mbps(standing.job->spec) > 0
                                                       ? "some of its ports cannot reach each other, or not those of "
                                                         "a role that it sends to"
                                                       : "some of its ports cannot reach each other"});
    const auto lost = book_.reach().cut_off(standing.job->placement.gpu_of_rank);
    if (!lost.empty()) standing.reason += ": " + cut_off_text(after_, *standing.job, lost);
    standing.links.clear();
    const auto& t = after_.topology();
    for (const auto gpu : standing.job->placement.gpu_of_rank) {
      for (const auto& nic : after_.placement_fabric->gpu_nics().nics(gpu)) {
        const auto link = t.link(nic.port);
        if (!link || after_.view.alive(link) || standing.links.size() >= JobGuarantee::kMaxLinks) continue;
        const std::string text = t.link_text(link);
        if (std::ranges::find(standing.links, text) == standing.links.end()) standing.links.push_back(text);
      }
    }
    for (const auto link : fabric::site_link_ids(t)) {
      if (after_.view.links_in_use(link) != 0 || standing.links.size() >= JobGuarantee::kMaxLinks) continue;
      const auto over = jobs_over(after_, link);
      const bool needs = std::ranges::any_of(
          over, [&](const JobOverSiteLink& one) { return one.needs_it && one.job->id == standing.job->id; });
      if (needs) standing.links.push_back(fabric::site_link_text(t, link));
    }
  }

  void lapse_full(Standing& standing, const std::vector<FullLink>& full) {
    const auto& t = after_.topology();
    standing.links.clear();
    for (const FullLink& one : full) {
      if (standing.links.size() < JobGuarantee::kMaxLinks) {
        standing.links.push_back(scheduler::directed_link_text(t, one.link));
      }
    }
    standing.reason =
        Message("guarantee.linksFull",
                {fmt::format("{}{} too little residual capacity: ", full.size(),
                             full.size() == 1 ? " link has" : " or more links have"),
                 LinkPart{standing.links.front()},
                 fmt::format(" would carry {} of {} Mb/s", full.front().wanted_mbps + full.front().reserved_mbps,
                             full.front().limit_mbps)});
  }

  const ClusterState& after_;
  GuaranteeBook& book_;
  Ledger ledger_;
  std::optional<unsigned> owned_lanes_;           // set where a job has a lane
  std::optional<fabric::PortPromises> promises_;  // none: no ports were read
  std::map<JobId, Standing> standings_;
  std::set<JobId> at_risk_;
  std::map<JobId, ViewBasis> basis_;
};

bool links_returned(const ClusterState& before, const ClusterState& after) {
  if (before.view.topology_ptr() != after.view.topology_ptr()) return true;
  for (const auto link : fabric::site_link_ids(after.topology())) {
    if (after.view.links_in_use(link) > before.view.links_in_use(link)) return true;
  }
  // Railweave's own tables are in force where others were: failures are known again.
  bool better =
      !after.view.is_spread_alike(before.view) || std::ranges::any_of(*after.subnet_tables, [&](const auto& now) {
        const SubnetTables* was = before.tables(now.first);
        return now.second.source == TablesSource::wanted && was != nullptr && was->source == TablesSource::seen;
      });
  after.view.for_each_touched_link(before.view, [&](fabric::LinkId link) {
    better = better || (after.view.alive(link) && !before.view.alive(link)) ||
             after.view.rate(link) != before.view.rate(link) ||  // coverage that was given up for it may still fit
             (before.view.drained(link) && !after.view.drained(link));
  });
  after.view.for_each_touched_switch(before.view, [&](fabric::SwitchId sw) {
    better = better || (before.view.drained(sw) && !after.view.drained(sw));
  });
  return better;
}

// If the fabric cannot be routed, no guarantee holds.
std::vector<EventBody> all_at_risk(const ClusterState& after, const Error& error, std::int64_t now_us) {
  std::vector<EventBody> events;
  for (const JobId id : *after.guaranteed) {
    const JobPtr job = after.jobs.find(id);
    if (job->guarantee->at_risk()) continue;
    JobGuarantee now = *job->guarantee;
    now.at_risk_since_us = now_us;
    now.covered = false;
    now.basis = {};
    now.reason = Message("guarantee.noRoutes", {"the fabric cannot be routed: " + error.message});
    events.emplace_back(GuaranteeChanged{id, job->spec.tenant, GuaranteeChange::at_risk, std::move(now), 0});
  }
  return events;
}

// Whether anything differs that guarantees depend on, other than new jobs.
bool differs(const ClusterState& before, const ClusterState& after) {
  if (before.view_version != after.view_version || before.placement_fabric != after.placement_fabric ||
      before.qos_classes != after.qos_classes || before.port_limits != after.port_limits ||
      before.subnet_tables != after.subnet_tables || !reaching_elsewhere(before, after).empty()) {
    return true;
  }
  return std::ranges::any_of(*before.guaranteed, [&](JobId id) {
    const JobPtr was = before.jobs.find(id);
    const JobPtr is = after.guaranteed->contains(id) ? after.jobs.find(id) : nullptr;
    return is == nullptr ||
           (is != was && (is->placement.gpu_of_rank != was->placement.gpu_of_rank || is->guarantee != was->guarantee));
  });
}

}  // namespace

std::vector<EventBody> guarantee_changes(const ClusterState& before, const ClusterState& after, GuaranteeBook& book,
                                         std::int64_t now_us) {
  if (after.guaranteed->empty() || !differs(before, after)) return {};
  // First to `before`, so that crossing() is relative to it. An error means that there is no fabric yet.
  (void)book.bring_to(before);
  const FabricRoutesPtr routes_before = book.routes();
  if (auto brought = book.bring_to(after); !brought) return all_at_risk(after, brought.error(), now_us);
  const bool freed = before.guaranteed->size() > after.guaranteed->size();
  const auto elsewhere = reaching_elsewhere(before, after);
  Recheck recheck(after, book);
  recheck.use_up_coverage(book.routes() != routes_before, elsewhere);
  recheck.shed();
  recheck.shed_from_ports(before.port_limits != after.port_limits || before.qos_classes != after.qos_classes);
  recheck.separate_lanes();
  recheck.restore();
  if (freed || !elsewhere.empty() || links_returned(before, after)) recheck.cover_again();
  return recheck.changes(now_us);
}

void add_guarantee_changes(const ClusterState& state, std::vector<EventBody>& events, GuaranteeBook& book,
                           std::int64_t now_us) {
  const auto gives_one = [](const EventBody& body) { return std::holds_alternative<GuaranteeChanged>(body); };
  if (state.guaranteed->empty() && std::ranges::none_of(events, gives_one)) return;
  if (events.empty()) return;
  ClusterState after = state;
  const auto apply_all = [&](const std::vector<EventBody>& bodies) {
    for (const auto& body : bodies) apply(after, Event{after.seq + 1, after.term, now_us, {}, body});
  };
  apply_all(events);
  auto changes = guarantee_changes(state, after, book, now_us);
  apply_all(changes);
  auto alarms = guarantee_alarm_changes(after);
  std::ranges::move(changes, std::back_inserter(events));
  std::ranges::move(alarms, std::back_inserter(events));
}

}  // namespace railweave::control
