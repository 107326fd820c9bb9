#include "fabric/qos/arbitration.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace railweave::fabric {
namespace {

constexpr unsigned kMaxQuantaPerEntry = 3;  // 192 of 255 units

}  // namespace

Result<std::vector<unsigned>> assign_quanta(std::span<const LaneDemand> lanes, std::size_t entries) {
  const std::size_t max_total = entries * kMaxQuantaPerEntry;
  const auto entries_for = [](std::span<const unsigned> quanta) {
    std::size_t sum = 0;
    for (const unsigned one : quanta) sum += (one + kMaxQuantaPerEntry - 1) / kMaxQuantaPerEntry;
    return sum;
  };
  std::uint64_t min_sum = 0;
  for (const LaneDemand& lane : lanes) min_sum += lane.min_permille;
  if (min_sum > 1000) {
    return fail(ErrorKind::impossible, "qos.overReserved",
                "the lanes need " + std::to_string(min_sum) + " permille of a link together", {},
                "reserve less on this link");
  }
  std::uint64_t requested = 0;
  for (const LaneDemand& lane : lanes) requested += std::max(lane.requested_permille, lane.min_permille);
  std::vector<unsigned> best;
  double best_error = 1e300;
  for (std::size_t total = lanes.size(); total <= max_total; ++total) {
    std::vector<unsigned> quanta;
    std::size_t sum = 0;
    for (const LaneDemand& lane : lanes) {
      quanta.push_back(static_cast<unsigned>(std::max<std::uint64_t>(1, (lane.min_permille * total + 999) / 1000)));
      sum += quanta.back();
    }
    if (sum > total) continue;
    for (; sum < total; ++sum) {  // to the lane furthest below its request
      std::size_t to = 0;
      double furthest = -1e300;
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        const double request = std::max(lanes[i].requested_permille, lanes[i].min_permille);
        const double below =
            request * static_cast<double>(total) / static_cast<double>(std::max<std::uint64_t>(1, requested)) -
            quanta[i];
        if (below > furthest) {
          furthest = below;
          to = i;
        }
      }
      ++quanta[to];
    }
    if (entries_for(quanta) > entries) continue;
    double error = 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const double request = std::max(lanes[i].requested_permille, lanes[i].min_permille) /
                             static_cast<double>(std::max<std::uint64_t>(1, requested));
      const double off = quanta[i] / static_cast<double>(total) - request;
      error += off * off;
    }
    // Short rounds keep waits short: a longer one must be clearly closer to the requested shares.
    error += 1e-6 * static_cast<double>(total);
    if (error < best_error) {
      best_error = error;
      best = std::move(quanta);
    }
  }
  if (best.empty()) {
    std::string text;
    for (const LaneDemand& lane : lanes) {
      text += (text.empty() ? "" : ", ") + std::string("VL") + std::to_string(lane.vl) + " " +
              std::to_string(lane.min_permille);
    }
    return fail(ErrorKind::impossible, "qos.tableTooSmall",
                std::to_string(entries) + " entries of at most " + std::to_string(kMaxQuantaPerEntry) +
                    " quanta of 4 KiB cannot give every lane a quantum and its share in permille (" + text + ")",
                {}, "reserve less, or in fewer classes");
  }
  return best;
}

VlArbitration arbitration_of(std::span<const LaneDemand> lanes, std::span<const unsigned> quanta, std::size_t entries) {
  std::vector<std::size_t> parts(lanes.size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    parts[i] = (quanta[i] + kMaxQuantaPerEntry - 1) / kMaxQuantaPerEntry;
    used += parts[i];
  }
  for (const bool latency : {true, false}) {  // more and smaller entries, first for latency-bound lanes
    for (bool grown = true; grown && used < entries;) {
      grown = false;
      for (std::size_t i = 0; i < lanes.size() && used < entries; ++i) {
        if (lanes[i].latency != latency || parts[i] >= quanta[i]) continue;
        ++parts[i];
        ++used;
        grown = true;
      }
    }
  }
  struct Slot {
    double at;
    std::size_t lane;
    unsigned quanta;
  };
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    for (std::size_t k = 0; k < parts[i]; ++k) {
      const auto share = static_cast<unsigned>(quanta[i] / parts[i] + (k < quanta[i] % parts[i] ? 1 : 0));
      slots.push_back({(static_cast<double>(k) + 0.5) / static_cast<double>(parts[i]), i, share});
    }
  }
  std::ranges::stable_sort(slots, {}, &Slot::at);
  VlArbitration table;
  for (const Slot& slot : slots) {
    table.low.push_back({lanes[slot.lane].vl, static_cast<std::uint8_t>(slot.quanta * kQuantumUnits)});
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
  for (int round = 0; round < 2; ++round) {  // two rounds: the widest gap may span the end of the table
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
