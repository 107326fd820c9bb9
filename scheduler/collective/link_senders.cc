#include "scheduler/collective/link_senders.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::scheduler {

void LinkSenders::add(std::uint64_t job, const LinkTraffic& traffic, double period_us) {
  RAILWEAVE_CHECK(!links_of_.contains(job), "a job sends once");
  std::vector<std::uint32_t>& links = links_of_[job];
  if (!(period_us > 0) || !std::isfinite(period_us)) return;
  struct Sum {
    std::uint32_t link = 0;
    std::int64_t kbps = 0;
    std::uint32_t flows = 0;
  };
  std::vector<Sum> sums;
  for (const GroupLoad& group : traffic.groups) {
    for (const auto& phase : group.phases) {
      for (const LinkBytes& on : phase) {
        const auto kbps = static_cast<std::int64_t>(std::llround(on.bytes * 8e3 / period_us));
        if (kbps > 0) sums.push_back({on.link, kbps, on.flows});
      }
    }
  }
  std::ranges::sort(sums, {}, [](const Sum& sum) { return std::tuple(sum.link, sum.kbps, sum.flows); });
  for (std::size_t i = 0; i < sums.size();) {
    Sender sender{.job = job};
    const std::uint32_t link = sums[i].link;
    // Groups send one after the other, so the number of flows is that of the largest group.
    for (; i < sums.size() && sums[i].link == link; ++i) {
      sender.kbps += sums[i].kbps;
      sender.flows = std::max(sender.flows, sums[i].flows);
    }
    auto& on = on_[link];
    on.insert(std::ranges::upper_bound(on, job, {}, &Sender::job), sender);
    links.push_back(link);
  }
}

void LinkSenders::remove(std::uint64_t job) {
  const auto known = links_of_.find(job);
  if (known == links_of_.end()) return;
  for (const std::uint32_t link : known->second) {
    auto& on = on_[link];
    on.erase(std::ranges::find(on, job, &Sender::job));
    if (on.empty()) on.shrink_to_fit();
  }
  links_of_.erase(known);
}

std::span<const std::uint32_t> LinkSenders::links(std::uint64_t job) const {
  const auto known = links_of_.find(job);
  return known == links_of_.end() ? std::span<const std::uint32_t>() : std::span(known->second);
}

double LinkSenders::others_mbps(std::uint32_t link, std::uint64_t own) const {
  std::int64_t kbps = 0;
  for (const Sender& sender : on_[link]) kbps += sender.job == own ? 0 : sender.kbps;
  return static_cast<double>(kbps) / 1000;
}

double LinkSenders::residual_mbps(std::uint32_t link, double capacity_mbps, std::uint32_t flows,
                                  std::uint64_t own) const {
  // Senders with the smallest caps reach them first; the others share the residual.
  struct Share {
    double cap_mbps = 0;  // of a flow
    const Sender* sender = nullptr;
  };
  constexpr std::size_t kUsual = 16;
  std::array<Share, kUsual> usual;
  std::vector<Share> many;
  const auto& on = on_[link];
  if (on.size() > kUsual) many.resize(on.size());
  std::span<Share> shares = on.size() > kUsual ? std::span(many) : std::span(usual);
  std::size_t others = 0;
  double unfrozen = flows;
  for (const Sender& sender : on) {
    if (sender.job == own) continue;
    shares[others++] = {static_cast<double>(sender.kbps) / 1000 / sender.flows, &sender};
    unfrozen += sender.flows;
  }
  shares = shares.first(others);
  std::ranges::sort(shares, {}, [](const Share& share) { return std::pair(share.cap_mbps, share.sender->job); });
  double left = capacity_mbps;
  for (const Share& share : shares) {
    if (share.cap_mbps * unfrozen >= left) break;
    left -= share.cap_mbps * share.sender->flows;
    unfrozen -= share.sender->flows;
  }
  return left / unfrozen * flows;
}

PhasesTime phases_time(const GroupLoad& load, std::span<const double> capacity_mbps, const LinkSenders* senders,
                       std::uint64_t own) {
  PhasesTime time;
  double longest = 0;
  for (const auto& phase : load.phases) {
    double slowest = load.floor_us / static_cast<double>(load.phases.size());
    std::uint32_t at = UINT32_MAX;
    for (const LinkBytes& on : phase) {
      const double capacity = capacity_mbps[on.link];
      const double mbps = senders == nullptr ? capacity : senders->residual_mbps(on.link, capacity, on.flows, own);
      const double us = mbps > 0 ? on.bytes * 8 / mbps : std::numeric_limits<double>::infinity();
      if (us <= slowest) continue;
      slowest = us;
      at = on.link;
    }
    time.us += slowest;
    if (slowest > longest) {
      longest = slowest;
      time.slowest = at;
    }
  }
  return time;
}

}  // namespace railweave::scheduler
