#include "fabric/qos/guarantee_partition.h"

#include <algorithm>
#include <numeric>

namespace railweave::fabric {

std::vector<std::int64_t> divide_guarantee(std::int64_t budget_mbps, std::span<const std::int64_t> wanted_mbps) {
  std::vector<std::int64_t> parts(wanted_mbps.size(), 0);
  std::vector<std::size_t> order(wanted_mbps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted_mbps[i]; });
  std::int64_t rest = std::max<std::int64_t>(0, budget_mbps);
  for (std::size_t k = 0; k < order.size(); ++k) {
    // Those that want least come first, so that what they do not use is divided among the others.
    const auto others = static_cast<std::int64_t>(order.size() - k);
    const std::int64_t wanted = std::max<std::int64_t>(0, wanted_mbps[order[k]]);
    const std::int64_t part = std::min(wanted, rest / others + (rest % others != 0 ? 1 : 0));
    parts[order[k]] = part;
    rest -= part;
  }
  return parts;
}

std::vector<std::int64_t> partition_guarantees(std::span<const std::int64_t> send_mbps,
                                               std::span<const std::int64_t> receive_mbps,
                                               std::span<const ActivePair> pairs) {
  struct Budget {
    std::int64_t rest = 0;
    std::int64_t open = 0;  // pairs whose rate is not final
  };
  std::vector<Budget> senders(send_mbps.size()), receivers(receive_mbps.size());
  for (std::size_t i = 0; i < send_mbps.size(); ++i) senders[i].rest = std::max<std::int64_t>(0, send_mbps[i]);
  for (std::size_t i = 0; i < receive_mbps.size(); ++i) receivers[i].rest = std::max<std::int64_t>(0, receive_mbps[i]);
  std::vector<std::int64_t> rates(pairs.size(), 0);
  std::vector<std::size_t> open(pairs.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (const ActivePair& pair : pairs) {
    ++senders[pair.sender].open;
    ++receivers[pair.receiver].open;
  }
  // Progressive filling: all open pairs grow together by what the tightest budget allows, then those that it stops are final.
  while (!open.empty()) {
    std::int64_t step = kUnlimitedMbps;
    for (const std::size_t i : open) {
      const Budget &from = senders[pairs[i].sender], &to = receivers[pairs[i].receiver];
      step = std::min(
          {step, from.rest / from.open, to.rest / to.open, std::max<std::int64_t>(0, pairs[i].wanted_mbps) - rates[i]});
    }
    for (const std::size_t i : open) {
      rates[i] += step;
      senders[pairs[i].sender].rest -= step;
      receivers[pairs[i].receiver].rest -= step;
    }
    // Where a budget leaves less than a unit for each, units go to the first pairs that can take one.
    std::vector<std::size_t> still_open;
    for (const std::size_t i : open) {
      Budget &from = senders[pairs[i].sender], &to = receivers[pairs[i].receiver];
      const bool is_final = rates[i] >= pairs[i].wanted_mbps || from.rest == 0 || to.rest == 0;
      if (!is_final && step == 0) {
        ++rates[i];
        --from.rest;
        --to.rest;
      }
      if (is_final) {
        --from.open;
        --to.open;
      } else {
        still_open.push_back(i);
      }
    }
    open = std::move(still_open);
  }
  return rates;
}

}  // namespace railweave::fabric
