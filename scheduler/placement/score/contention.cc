#include "scheduler/placement/score/contention.h"

#include <algorithm>
#include <cmath>

namespace railweave::scheduler {
namespace {

double time_us(const ContentionInput& in, CommGroup group, double transfer_us) {
  const GroupTraffic& sent = traffic_of_group(in.traffic.traffic, group);
  const GroupLoad& load = in.loads.groups[static_cast<std::size_t>(group)];
  if (sent.bytes <= 0 || load.domains == 0) return 0;
  const std::uint64_t members = group_size(in.spec.parallelism, group);
  const double us = group_time_us(in.generation, group, sent, members, load.domains, transfer_us);
  // Up and down a tree over the domains that the group spans, on the longest of its paths.
  const double steps = 2 * std::log2(std::max(2.0, static_cast<double>(load.domains)));
  return us + std::max(sent.calls, 1.0) * steps * load.path_us + load.far_us;
}

}  // namespace

double Contention::slowdown() const {
  return alone.communication_us > 0 && alone.reachable ? shared.communication_us / alone.communication_us : 1;
}

std::array<double, kCommGroups> group_times_us(const ContentionInput& in, bool alone) {
  std::array<double, kCommGroups> us{};
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    const auto time = phases_time(in.loads.groups[g], in.capacity_mbps, alone ? nullptr : &in.senders, in.own);
    us[g] = time_us(in, static_cast<CommGroup>(g), time.us);
  }
  return us;
}

Contention contention_of(const ContentionInput& in, ContentionBasis basis) {
  Contention result{.basis = basis};
  std::array<double, kCommGroups> alone{}, shared{};
  double most_lost = 0;
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    const auto group = static_cast<CommGroup>(g);
    const PhasesTime without = phases_time(in.loads.groups[g], in.capacity_mbps, nullptr);
    const PhasesTime with = phases_time(in.loads.groups[g], in.capacity_mbps, &in.senders, in.own);
    alone[g] = time_us(in, group, without.us);
    shared[g] = time_us(in, group, with.us);
    const double lost = shared[g] - alone[g];
    if (!(lost > most_lost) || with.slowest == UINT32_MAX) continue;
    most_lost = lost;
    result.link = with.slowest;
    result.group = group;
  }
  result.alone = prediction_of(in.spec, in.traffic, in.generation, alone);
  result.shared = prediction_of(in.spec, in.traffic, in.generation, shared);
  if (result.link == Contention::kNone) return result;
  result.capacity_mbps = in.capacity_mbps[result.link];
  result.others_mbps = in.senders.others_mbps(result.link, in.own);
  for (const auto& sender : in.senders.on(result.link)) {
    if (sender.job != in.own) result.crossing.push_back({sender.job, static_cast<double>(sender.kbps) / 1000});
  }
  result.jobs_crossing = result.crossing.size();
  std::ranges::stable_sort(result.crossing, std::ranges::greater{}, &Contention::Crossing::mbps);
  if (result.crossing.size() > Contention::kMaxJobs) result.crossing.resize(Contention::kMaxJobs);
  return result;
}

}  // namespace railweave::scheduler
