#include "services/control/guarantees/role_senders.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/rate_text.h"
#include "fabric/capacity/lane_owners.h"
#include "fabric/qos/port_promises.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/guarantees/port_rules.h"

namespace railweave::control {
namespace {

using fabric::FullLink;
using fabric::ReservationPtr;

// Full links, or those on which the sender's lane is taken.
std::vector<FullLink> links_without_room(const fabric::Topology& topology, const fabric::Ledger& ledger,
                                         const fabric::Reservation& wanted, fabric::PortPromises& promises) {
  auto full = ledger.full_links(wanted.loads, wanted.qos_class);
  if (full.empty() && !fabric::lane_is_free(ledger, wanted)) {
    full = fabric::crowded_links(ledger, wanted.loads, wanted.qos_class);
  }
  if (full.empty()) full = promises.full_links(topology, ledger, {wanted.loads, wanted.qos_class, wanted.lane});
  return full;
}

Rejection no_room(const ClusterState& state, const Job& sender, const fabric::Ledger& ledger,
                  const fabric::Reservation& wanted, std::vector<FullLink> full,
                  std::vector<scheduler::Rejected::Where>* blocked) {
  const bool is_lane =
      !fabric::lane_is_free(ledger, wanted) && ledger.full_links(wanted.loads, wanted.qos_class, 1).empty();
  std::vector<scheduler::Rejected::Where> where;
  for (FullLink& link : full) {
    where.push_back({scheduler::directed_link_text(state.topology(), link.link), std::move(link)});
  }
  const auto& first = where.front();
  Message said(
      is_lane ? "admission.lanesTaken" : "admission.linksFull",
      {"the guarantee of ", JobPart{sender.id.number()}, ", which sends to it, would have no room on ",
       LinkPart{first.link},
       is_lane
           ? std::string(": its lane is taken there")
           : fmt::format(": it would carry {} beside {} of {}", rate_text(RateMbps(first.full.wanted_mbps)),
                         rate_text(RateMbps(first.full.reserved_mbps)), rate_text(RateMbps(first.full.limit_mbps)))});
  Rejection rejection{error_of(ErrorKind::conflict, is_lane ? "admission.lanesTaken" : "admission.linksFull",
                               std::move(said), {}, "ask for less in bandwidth.betweenRolesGbpsPerPort of that role"),
                      nullptr, blocked_links(where)};
  if (blocked != nullptr) *blocked = std::move(where);
  return rejection;
}

}  // namespace

std::expected<std::vector<ReservationPtr>, Rejection> renew_senders(const ClusterState& state,
                                                                    const scheduler::JobSpec& spec,
                                                                    const std::string& name,
                                                                    const scheduler::Placement& placement,
                                                                    fabric::Ledger& ledger, GuaranteeBook& book,
                                                                    std::vector<scheduler::Rejected::Where>* blocked) {
  std::vector<ReservationPtr> renewed;
  const JobAt here{parse_job_id(name).value_or(JobId()), placement.gpu_of_rank};
  std::set<std::uint64_t> seen;
  std::optional<fabric::PortPromises> promises;
  for (const auto& peer : spec.peers) {
    if (peer.sends || !seen.insert(peer.job).second) continue;
    const JobPtr sender = state.jobs.find(JobId(peer.job));
    if (sender == nullptr || !sender->holds_gpus() || !sender->guarantee || sender->guarantee->at_risk()) continue;
    if (between_roles_mbps(sender->spec) <= 0) continue;
    const auto held = ledger.reservations_of(to_string(sender->id));
    if (held.empty()) continue;
    auto wanted = book.reaching(sender, here);
    if (!wanted) return std::unexpected(Rejection{wanted.error(), nullptr});
    if (wanted->reservation == nullptr || wanted->reservation->ports == held.front()->ports) continue;
    if (!wanted->complete) {
      return std::unexpected(Rejection{
          {ErrorKind::conflict,
           "admission.notConnected",
           "some ports there cannot be reached from those of " + to_string(sender->id) + ", which sends to them",
           {},
           {}},
          nullptr});
    }
    if (!promises) {
      const auto rules = ports_hold(state, book.classes(), book);
      if (!rules) return std::unexpected(Rejection{rules.error(), nullptr});
      promises.emplace(book.classes(), rules->arbitration, rules->routing.lanes);
    }
    (void)ledger.release(held.front()->job, held.front()->qos_class);
    const ReservationPtr reservation = fabric::with_lane(wanted->reservation, held.front()->lane);
    auto full = links_without_room(state.topology(), ledger, *reservation, *promises);
    if (!full.empty()) {
      return std::unexpected(no_room(state, *sender, ledger, *reservation, std::move(full), blocked));
    }
    ledger.reserve(reservation);
    renewed.push_back(reservation);
  }
  return renewed;
}

std::set<JobId> reaching_elsewhere(const ClusterState& before, const ClusterState& after) {
  const auto place = [](const ClusterState& state, std::uint64_t number) {
    const JobPtr job = state.jobs.find(JobId(number));
    return job != nullptr && job->holds_gpus() ? job->placement.gpu_of_rank : std::vector<fabric::GpuId>();
  };
  std::set<JobId> jobs;
  for (const JobId id : *after.guaranteed) {
    const JobPtr job = after.jobs.find(id);
    if (between_roles_mbps(job->spec) <= 0) continue;
    const bool differs = std::ranges::any_of(job->spec.peers, [&](const auto& peer) {
      return peer.sends && place(before, peer.job) != place(after, peer.job);
    });
    if (differs) jobs.insert(id);
  }
  return jobs;
}

void put_renewed(fabric::Ledger& ledger, const std::vector<ReservationPtr>& renewed) {
  for (const ReservationPtr& one : renewed) {
    (void)ledger.release(one->job, one->qos_class);
    ledger.reserve(one);
  }
}

}  // namespace railweave::control
