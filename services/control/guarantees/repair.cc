#include "services/control/guarantees/repair.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/capacity/lane_owners.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/guarantees/alarms.h"
#include "services/control/guarantees/job_repair.h"
#include "services/control/guarantees/port_rules.h"
#include "services/control/views/job_ports.h"

namespace railweave::control {
namespace {

using fabric::GpuId;
using fabric::HostId;

// Whether a lane of its own is left on the reservation's links, or it has none.
bool has_lane(const ClusterState& state, const fabric::Reservation& reservation, const GuaranteeBook& book) {
  return !reservation.lane ||
         fabric::free_lane(book.ledger(), reservation.loads, owned_lanes(state, book.classes(), book));
}

// The links of the job at this placement that are full, or on which the lanes are taken; empty: the guarantee fits, or
// ports are cut off.
std::vector<fabric::FullLink> full_links(const ClusterState& state, const Job& job, GuaranteeBook& book) {
  const auto wanted = book.plain(job);
  if (!wanted.complete || wanted.reservation == nullptr) return {};
  auto full = book.ledger().full_links(wanted.reservation->loads, wanted.reservation->qos_class);
  if (full.empty() && !has_lane(state, *wanted.reservation, book)) {
    full = fabric::crowded_links(book.ledger(), wanted.reservation->loads, wanted.reservation->qos_class);
  }
  return full;
}

bool would_hold(const ClusterState& state, const Job& job, GuaranteeBook& book) {
  const auto wanted = book.plain(job);
  return wanted.complete && wanted.reservation != nullptr &&
         book.ledger().full_links(wanted.reservation->loads, wanted.reservation->qos_class, 1).empty() &&
         has_lane(state, *wanted.reservation, book);
}

// What to do about a guarantee that no move away from full links restores: where ports are cut off, a repair of the job.
std::string without_move(const ClusterState& state, const Job& job, PlacerCache& placers, std::int64_t now_us) {
  const auto lost = placers.rank_reach(state).cut_off(job.placement.gpu_of_rank);
  if (lost.empty()) return "no other nodes are known on which it would hold";
  const auto plan = plan_job_repair(state, job, lost, placers, now_us);
  if (!plan) return "its ranks cannot leave " + loss_text(state.topology(), lost) + ": " + plan.error().message;
  return fmt::format("railweave jobs repair {} moves {} of its ranks away from {}", to_string(job.id),
                     plan->moves.size(), loss_text(state.topology(), lost));
}

}  // namespace

std::optional<GuaranteeMove> plan_guarantee_move(const ClusterState& state, const Job& job, PlacerCache& placers,
                                                 std::int64_t now_us) {
  (void)placers.at(state);
  GuaranteeBook& book = placers.guarantees();
  if (!book.bring_to(state)) return std::nullopt;
  const auto& t = state.topology();
  std::set<HostId> avoided;
  Job tried = job;
  for (unsigned attempt = 0; attempt < kGuaranteeMoveTries; ++attempt) {
    const auto full = full_links(state, tried, book);
    if (full.empty()) return std::nullopt;
    std::vector<scheduler::Rejected::Where> where;
    for (const auto& link : full) where.push_back({scheduler::directed_link_text(t, link.link), link});
    const std::size_t before = avoided.size();
    add_hosts_behind(state, book, job_ports(*state.placement_fabric, tried.placement.gpu_of_rank), where, avoided);
    if (avoided.size() == before) return std::nullopt;
    std::vector<GpuId> unusable;
    for (const HostId host : avoided) {
      for (const GpuId gpu : t.gpus(host)) unusable.push_back(gpu);
    }
    std::ranges::sort(unusable);
    const auto plan = plan_job_repair(state, job, unusable, placers, now_us);
    if (!plan) return std::nullopt;
    tried.placement.gpu_of_rank = plan->gpu_of_rank;
    tried.placement.idle_gpus = plan->idle_gpus;
    if (!would_hold(state, tried, book)) continue;
    GuaranteeMove move{{}, *plan};
    for (const auto& one : plan->moves) move.vacated.push_back(one.from);
    std::ranges::sort(move.vacated);
    return move;
  }
  return std::nullopt;
}

std::vector<EventBody> next_guarantee_repair(const ClusterState& state, PlacerCache& placers, std::int64_t now_us) {
  std::vector<JobPtr> lapsed;
  for (const JobId id : *state.guaranteed) {
    const JobPtr job = state.jobs.find(id);
    if (job->guarantee->at_risk()) lapsed.push_back(job);
  }
  std::ranges::sort(lapsed, {},
                    [&](const JobPtr& job) { return std::pair(guarantee_order(*state.queue_rules, *job), job->id); });
  if (lapsed.size() > kMaxGuaranteeMoves) lapsed.resize(kMaxGuaranteeMoves);
  for (const JobPtr& job : lapsed) {
    const auto move = plan_guarantee_move(state, *job, placers, now_us);
    const auto tenant = state.tenants->find(job->spec.tenant);
    const bool apply =
        tenant != state.tenants->end() && tenant->second.repair == RepairPolicy::apply && !job->is_releasing();
    if (move && apply) {
      return {moved(state, *job, move->vacated, move->plan, "for its guarantee, as its tenant's repair policy says",
                    placers)};
    }
    const std::string remedy =
        move ? fmt::format("it would hold on other nodes: railweave jobs repair {} --guarantee moves {} of its ranks",
                           to_string(job->id), move->plan.moves.size())
             : without_move(state, *job, placers, now_us);
    Alarm alarm = guarantee_alarm(*job, remedy);
    const auto present = state.alarms->find(alarm.id());
    if (present == state.alarms->end() || present->second.text != alarm.text) return {AlarmRaised{std::move(alarm)}};
  }
  return {};
}

}  // namespace railweave::control
