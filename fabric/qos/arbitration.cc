#include "fabric/qos/arbitration.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace railweave::fabric {
namespace {

constexpr unsigned kMostTurns = 3;  // of one entry: 192 of 255 units

}  // namespace

Result<std::vector<unsigned>> deal_turns(std::span<const LaneDemand> lanes, std::size_t entries) {
  const std::size_t most = entries * kMostTurns;
  const auto entries_for = [](std::span<const unsigned> turns) {
    std::size_t sum = 0;
    for (const unsigned one : turns) sum += (one + kMostTurns - 1) / kMostTurns;
    return sum;
  };
  std::uint64_t least = 0;
  for (const LaneDemand& lane : lanes) least += lane.least_permille;
  if (least > 1000) {
    return fail(ErrorKind::impossible, "qos.overReserved",
                "lanes need " + std::to_string(least) + " of 1000 of a link together");
  }
  std::uint64_t wishes = 0;
  for (const LaneDemand& lane : lanes) wishes += std::max(lane.wish_permille, lane.least_permille);
  std::vector<unsigned> best;
  double best_error = 1e300;
  for (std::size_t total = lanes.size(); total <= most; ++total) {
    std::vector<unsigned> turns;
    std::size_t sum = 0;
    for (const LaneDemand& lane : lanes) {
      turns.push_back(static_cast<unsigned>(std::max<std::uint64_t>(1, (lane.least_permille * total + 999) / 1000)));
      sum += turns.back();
    }
    if (sum > total) continue;
    for (; sum < total; ++sum) {  // to the one furthest below its wish
      std::size_t to = 0;
      double furthest = -1e300;
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        const double wish = std::max(lanes[i].wish_permille, lanes[i].least_permille);
        const double below =
            wish * static_cast<double>(total) / static_cast<double>(std::max<std::uint64_t>(1, wishes)) - turns[i];
        if (below > furthest) {
          furthest = below;
          to = i;
        }
      }
      ++turns[to];
    }
    if (entries_for(turns) > entries) continue;
    double error = 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const double wish = std::max(lanes[i].wish_permille, lanes[i].least_permille) /
                          static_cast<double>(std::max<std::uint64_t>(1, wishes));
      const double off = turns[i] / static_cast<double>(total) - wish;
      error += off * off;
    }
    // Short rounds keep waits short: a longer one must be clearly nearer to the wishes.
    error += 1e-6 * static_cast<double>(total);
    if (error < best_error) {
      best_error = error;
      best = std::move(turns);
    }
  }
  if (best.empty()) {
    std::string text;
    for (const LaneDemand& lane : lanes) {
      text += (text.empty() ? "" : ", ") + std::string("VL") + std::to_string(lane.vl) + " " +
              std::to_string(lane.least_permille);
    }
    return fail(ErrorKind::impossible, "qos.tableTooSmall",
                std::to_string(entries) + " entries of at most " + std::to_string(kMostTurns) +
                    " turns of 4 KiB cannot give every lane a turn and its share in permille (" + text + ")",
                {}, "reserve less, or in fewer classes");
  }
  return best;
}

VlArbitration arbitration_of(std::span<const LaneDemand> lanes, std::span<const unsigned> turns, std::size_t entries) {
  std::vector<std::size_t> parts(lanes.size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    parts[i] = (turns[i] + kMostTurns - 1) / kMostTurns;
    used += parts[i];
  }
  for (const bool latency : {true, false}) {  // more, smaller entries: first for those that wait for latency
    for (bool grown = true; grown && used < entries;) {
      grown = false;
      for (std::size_t i = 0; i < lanes.size() && used < entries; ++i) {
        if (lanes[i].latency != latency || parts[i] >= turns[i]) continue;
        ++parts[i];
        ++used;
        grown = true;
      }
    }
  }
  struct Slot {
    double at;
    std::size_t lane;
    unsigned turns;
  };
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    for (std::size_t k = 0; k < parts[i]; ++k) {
      const auto share = static_cast<unsigned>(turns[i] / parts[i] + (k < turns[i] % parts[i] ? 1 : 0));
      slots.push_back({(static_cast<double>(k) + 0.5) / static_cast<double>(parts[i]), i, share});
    }
  }
  std::ranges::stable_sort(slots, {}, &Slot::at);
  VlArbitration table;
  for (const Slot& slot : slots) {
    table.low.push_back({lanes[slot.lane].vl, static_cast<std::uint8_t>(slot.turns * kTurnUnits)});
  }
  table.high_limit = 0;
  return table;
}

std::uint32_t promised_permille(const VlArbitration& table, std::uint8_t vl) {
  std::uint64_t own = 0, all = 0;
  for (const VlWeight entry : table.low) {
    all += entry.weight;
    if (entry.vl == vl) own += entry.weight;
  }
  return all == 0 ? 0 : static_cast<std::uint32_t>(own * 1000 / all);
}

std::uint64_t longest_wait_bytes(const VlArbitration& table, std::uint8_t vl, unsigned mtu_bytes) {
  std::uint64_t longest = 0, gap = 0;
  bool seen = false;
  for (int round = 0; round < 2; ++round) {  // twice round: the widest gap may span the end
    for (const VlWeight entry : table.low) {
      if (entry.vl == vl) {
        if (seen) longest = std::max(longest, gap);
        seen = true;
        gap = 0;
      } else if (entry.weight > 0) {
        gap += std::uint64_t{entry.weight} * kWeightUnitBytes + mtu_bytes;
      }
    }
  }
  return longest;
}

}  // namespace railweave::fabric
