#include "fabric/qos/arbitration.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

namespace railweave::fabric {
namespace {

// A longer round promises more, and makes lanes wait longer.
constexpr unsigned kLongestRound = 6'000;  // units, with a packet too much in every turn
constexpr unsigned kRoundStep = 16, kWeightStep = 4;

struct LaneTurns {
  std::uint64_t entries = 1, weight = 1;
};

// Turns of all lanes within a round of a given length, or none that keep the minimums.
class RoundPlan {
 public:
  RoundPlan(std::span<const LaneDemand> lanes, std::size_t entries, unsigned packet, std::uint64_t round)
      : lanes_(lanes), entries_left_(entries), packet_(packet), left_(round), turns_(lanes.size()) {
    for (std::size_t i = 0; i < lanes.size() && possible_; ++i) need(i, round);
  }
  // Uses what the minimums leave of the round.
  void divide_rest() {
    spread_latency();
    fill();
  }
  [[nodiscard]] bool possible() const { return possible_; }
  [[nodiscard]] const std::vector<LaneTurns>& turns() const { return turns_; }

 private:
  // The fewest entries whose weight is at least the minimum of what others can send in the round.
  void need(std::size_t i, std::uint64_t round) {
    for (std::uint64_t n = 1; n <= entries_left_ && n * packet_ < round; ++n) {
      // One more than the minimum: promises are rounded down.
      const std::uint64_t least = lanes_[i].min_permille == 0 ? 0 : lanes_[i].min_permille + 1;
      const std::uint64_t weight = std::max<std::uint64_t>(n, (least * (round - n * packet_) + 999) / 1000);
      if (weight > n * kMaxWeight) continue;
      if (weight + n * packet_ > left_) break;
      turns_[i] = {n, weight};
      entries_left_ -= n;
      left_ -= weight + n * packet_;
      return;
    }
    possible_ = false;
  }

  void spread_latency() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (!lanes_[i].latency || entries_left_ == 0 || left_ < packet_ || turns_[i].weight <= turns_[i].entries)
        continue;
      ++turns_[i].entries;
      --entries_left_;
      left_ -= packet_;
    }
  }

  // To the lane furthest below its request.
  void fill() {
    while (left_ >= kWeightStep) {
      std::size_t to = lanes_.size();
      double furthest = 0;
      bool grows = false;
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const bool is_full = turns_[i].weight + kWeightStep > turns_[i].entries * kMaxWeight;
        if (is_full && (entries_left_ == 0 || left_ < packet_ + kWeightStep)) continue;
        const double request = std::max({lanes_[i].requested_permille, lanes_[i].min_permille, 1U});
        const double filled = static_cast<double>(turns_[i].weight) / request;
        if (to != lanes_.size() && filled >= furthest) continue;
        to = i;
        furthest = filled;
        grows = is_full;
      }
      if (to == lanes_.size()) return;
      if (grows) {
        ++turns_[to].entries;
        --entries_left_;
        left_ -= packet_;
      }
      turns_[to].weight += kWeightStep;
      left_ -= kWeightStep;
    }
  }

  std::span<const LaneDemand> lanes_;
  std::uint64_t entries_left_;
  std::uint64_t packet_, left_;
  std::vector<LaneTurns> turns_;
  bool possible_ = true;
};

double error_of(std::span<const LaneDemand> lanes, const std::vector<LaneTurns>& turns, std::uint64_t round) {
  double requested = 0, all = 0, error = 0;
  const auto request = [&](std::size_t i) {
    return static_cast<double>(std::max({lanes[i].requested_permille, lanes[i].min_permille, 1U}));
  };
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    requested += request(i);
    all += static_cast<double>(turns[i].weight);
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const double off = static_cast<double>(turns[i].weight) / all - request(i) / requested;
    error += off * off;
  }
  // Short rounds keep waits short: a longer one must be clearly closer to the requested shares.
  return error + 1e-6 * static_cast<double>(round) / 64;
}

// Turns of a lane evenly over the round.
VlArbitration spread(std::span<const LaneDemand> lanes, const std::vector<LaneTurns>& turns) {
  struct Slot {
    double at;
    std::uint8_t vl;
    std::uint8_t weight;
  };
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const auto [entries, weight] = turns[i];
    for (std::uint64_t k = 0; k < entries; ++k) {
      slots.push_back({(static_cast<double>(k) + 0.5) / static_cast<double>(entries), lanes[i].vl,
                       static_cast<std::uint8_t>(weight / entries + (k < weight % entries ? 1 : 0))});
    }
  }
  std::ranges::stable_sort(slots, {}, &Slot::at);
  VlArbitration table;
  for (const Slot& slot : slots) table.low.push_back({slot.vl, slot.weight});
  table.high_limit = 0;
  return table;
}

}  // namespace

Result<VlArbitration> assign_weights(std::span<const LaneDemand> lanes, ArbitrationLimits limits) {
  const unsigned packet = packet_units(limits.mtu_bytes);
  const std::size_t entries = std::min<std::size_t>(limits.entries, kMaxArbitrationEntries);
  std::vector<LaneTurns> best;
  double best_error = 1e300;
  for (std::uint64_t round = lanes.size() * (packet + 1); round <= kLongestRound; round += kRoundStep) {
    RoundPlan plan(lanes, entries, packet, round);
    if (!plan.possible()) continue;
    plan.divide_rest();
    const double error = error_of(lanes, plan.turns(), round);
    if (error >= best_error) continue;
    best_error = error;
    best = plan.turns();
  }
  if (best.empty()) {
    std::string text;
    for (const LaneDemand& lane : lanes) {
      text += fmt::format("{}VL{} {}", text.empty() ? "" : ", ", lane.vl, lane.min_permille);
    }
    return fail(ErrorKind::impossible, "qos.tableTooSmall",
                fmt::format("{} entries of at most {} bytes, each with up to a packet of {} bytes more, cannot promise "
                            "every lane its share in permille ({})",
                            entries, kMaxWeight * kWeightUnitBytes, packet * kWeightUnitBytes, text),
                {}, "reserve less, or in fewer classes");
  }
  return spread(lanes, best);
}

bool can_promise(std::span<const LaneDemand> lanes, ArbitrationLimits limits) {
  const unsigned packet = packet_units(limits.mtu_bytes);
  const std::size_t entries = std::min<std::size_t>(limits.entries, kMaxArbitrationEntries);
  // Long rounds first: they promise more.
  const std::uint64_t shortest = lanes.size() * (packet + 1);
  const std::uint64_t steps = shortest > kLongestRound ? 0 : (kLongestRound - shortest) / kRoundStep + 1;
  for (std::uint64_t step = steps; step-- > 0;) {
    if (RoundPlan(lanes, entries, packet, shortest + step * kRoundStep).possible()) return true;
  }
  return false;
}

std::uint32_t promised_permille(const VlArbitration& table, std::uint8_t vl, unsigned mtu_bytes) {
  std::uint64_t own = 0, all = 0;
  for (const VlWeight entry : table.low) {
    if (entry.weight == 0) continue;
    all += entry.weight;
    if (entry.vl == vl) {
      own += entry.weight;
    } else {
      all += packet_units(mtu_bytes);
    }
  }
  return all == 0 ? 0 : static_cast<std::uint32_t>(own * 1000 / all);
}

std::uint64_t longest_wait_bytes(const VlArbitration& table, std::uint8_t vl, unsigned mtu_bytes) {
  std::uint64_t longest = 0, gap = 0;
  bool seen = false;
  for (int round = 0; round < 2; ++round) {  // two rounds: the widest gap may span the end of the table
    for (const VlWeight entry : table.low) {
      if (entry.vl == vl) {
        if (seen) longest = std::max(longest, gap);
        seen = true;
        gap = 0;
      } else if (entry.weight > 0) {
        gap +=
            std::uint64_t{entry.weight} * kWeightUnitBytes + std::uint64_t{packet_units(mtu_bytes)} * kWeightUnitBytes;
      }
    }
  }
  return longest;
}

}  // namespace railweave::fabric
