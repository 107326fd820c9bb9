#include "fabric/routing/up_down/host_load.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace railweave::fabric {
namespace {

class Loads {
 public:
  Loads(const Plane& plane, std::span<const std::uint32_t> pair_weight)
      : plane_(plane),
        pair_weight_(pair_weight),
        load_(plane.arcs.size(), 0),
        ports_(std::size_t{plane.max_ports} + 1),
        arc_of_(plane.switch_count() * ports_, kNoArc) {
    for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
      for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a)
        arc_of_[s * ports_ + plane.arcs[a].port] = a;
    }
  }

  // False: packets of a pair that has a route are dropped.
  bool add(const Home& home, std::size_t h, const Segment& segment, const Reach& reach, const PlaneTables& tables) {
    farthest_first(home, h, reach);
    const std::size_t switches = plane_.switch_count();
    flow_.assign(segment.count * switches, 0);
    for (const Home& from : plane_.homes) {
      for (std::size_t i = 0; i < segment.count; ++i) flow_[i * switches + from.sw] = from.host_ports;
    }
    read_.resize(segment.count);
    for (const auto& [distance, s] : order_) {
      tables.read(s, segment.first, segment.count, read_.data());
      for (std::size_t i = 0; i < segment.count; ++i) {
        const std::uint32_t flow = flow_[i * switches + s];
        if (flow == 0) continue;
        const std::uint32_t a = read_[i] < ports_ ? arc_of_[s * ports_ + read_[i]] : kNoArc;
        if (a == kNoArc) return false;
        load_[a] += std::uint64_t{flow} * pair_weight_[a];
        flow_[i * switches + plane_.arcs[a].to] += flow;
      }
    }
    return true;
  }

  [[nodiscard]] std::uint64_t fullest() const { return load_.empty() ? 0 : std::ranges::max(load_); }

 private:
  static constexpr std::uint32_t kNoArc = UINT32_MAX;

  void farthest_first(const Home& home, std::size_t h, const Reach& reach) {
    order_.clear();
    for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
      const std::uint8_t distance = reach.total(s)[h];
      if (s != home.sw && distance != kUnreachable) order_.emplace_back(distance, s);
    }
    std::ranges::sort(order_, std::greater<>());
  }

  const Plane& plane_;
  std::span<const std::uint32_t> pair_weight_;
  std::vector<std::uint64_t> load_;  // by arc
  std::size_t ports_;
  std::vector<std::uint32_t> arc_of_;                          // switch x port
  std::vector<std::pair<std::uint8_t, std::uint32_t>> order_;  // (distance, switch)
  std::vector<std::uint32_t> flow_;                            // destination x switch: pairs that pass it
  std::vector<std::uint16_t> read_;
};

}  // namespace

std::uint64_t fullest_load(const Plane& plane, const Reach& reach, const PlaneTables& tables,
                           std::span<const std::uint32_t> pair_weight) {
  Loads loads(plane, pair_weight);
  for (std::size_t h = 0; h < plane.homes.size(); ++h) {
    for (const Segment& segment : plane.segments_of(plane.homes[h])) {
      if (segment.kind == DestinationKind::host && !loads.add(plane.homes[h], h, segment, reach, tables))
        return UINT64_MAX;
    }
  }
  return loads.fullest();
}

std::vector<std::uint64_t> scaled_weights(const Plane& plane, std::span<const std::uint32_t> weights) {
  constexpr std::uint64_t kHeaviest = 1024;
  std::vector<std::uint64_t> scaled(plane.destination_count(), 1);
  const std::uint64_t heaviest = weights.empty() ? 1 : std::max<std::uint64_t>(1, std::ranges::max(weights));
  for (std::size_t d = 0; d < weights.size(); ++d) {
    scaled[d] = std::max<std::uint64_t>(1, weights[d] * kHeaviest / heaviest);
  }
  return scaled;
}

namespace {

// reaches(h, k): packets from home h reach home k. is_usable(a): the arc carries packets.
template <class Reaches, class IsUsable>
std::uint64_t least_of(const Plane& plane, std::span<const std::uint32_t> pair_weight,
                       std::span<const std::uint64_t> weight, Reaches reaches, IsUsable is_usable) {
  const std::size_t homes = plane.homes.size();
  std::vector<std::uint64_t> weight_of(homes, 0);
  for (std::size_t h = 0; h < homes; ++h) {
    for (const Segment& segment : plane.segments_of(plane.homes[h])) {
      if (segment.kind != DestinationKind::host) continue;
      for (std::uint32_t i = 0; i < segment.count; ++i) weight_of[h] += weight.empty() ? 1 : weight[segment.first + i];
    }
  }
  std::vector<std::uint64_t> out(homes, 0), in(homes, 0);
  for (std::size_t h = 0; h < homes; ++h) {
    const std::uint64_t ports = plane.homes[h].host_ports;
    for (std::size_t k = 0; k < homes; ++k) {
      if (h == k || !reaches(h, k)) continue;
      out[h] += ports * weight_of[k];
      in[k] += ports * weight_of[k];
    }
  }
  constexpr std::uint64_t kOne = 65536;  // the capacity of an arc on which a pair weighs 1
  std::uint64_t least = 0;
  for (std::size_t h = 0; h < homes; ++h) {
    const Home& home = plane.homes[h];
    std::uint64_t capacity = 0;
    for (std::uint32_t a = plane.first_arc[home.sw]; a < plane.first_arc[home.sw + 1]; ++a) {
      if (is_usable(a)) capacity += kOne / pair_weight[a];
    }
    if (capacity == 0) continue;
    least = std::max(least, (std::max(out[h], in[h]) * kOne + capacity - 1) / capacity);
  }
  return least;
}

}  // namespace

std::uint64_t least_load(const Plane& plane, const DirectedReach& on, std::span<const std::uint32_t> pair_weight,
                         std::span<const std::uint64_t> weight) {
  const auto reaches = [&](std::size_t h, std::size_t k) {
    return on.reach.total(plane.homes[h].sw)[k] != kUnreachable;
  };
  return least_of(plane, pair_weight, weight, reaches,
                  [&](std::uint32_t a) { return on.directions[a] != ArcDirection::none; });
}

std::uint64_t least_load(const Plane& plane, const NextHops& hops, std::span<const std::uint32_t> pair_weight,
                         std::span<const std::uint64_t> weight) {
  std::vector<std::uint32_t> home_of(plane.switch_count(), Plane::kNone);
  const std::size_t homes = plane.homes.size();
  for (std::uint32_t h = 0; h < homes; ++h) home_of[plane.homes[h].sw] = h;
  std::vector<std::uint8_t> reached(homes * homes, 0);
  for (std::size_t k = 0; k < homes; ++k) {
    for (const std::uint32_t s : hops.nearest_first(k)) {
      if (home_of[s] != Plane::kNone) reached[k * homes + home_of[s]] = 1;
    }
  }
  return least_of(
      plane, pair_weight, weight, [&](std::size_t h, std::size_t k) { return reached[k * homes + h] != 0; },
      [](std::uint32_t) { return true; });
}

}  // namespace railweave::fabric
