#include "fabric/routing/up_down/far_reaching_links.h"

#include <algorithm>
#include <cstdint>

namespace railweave::fabric {
namespace {

// The links that all routes from a switch to one home have in common, as a tree: the switch that all routes pass next,
// and the link to it where they share that link as well.
class CommonLinks {
 public:
  CommonLinks(const Plane& plane, const PlaneState& state)
      : plane_(plane), state_(state), common_(plane.switch_count()), far_reaching_(plane.arcs.size(), 0) {}

  void add_home(std::uint32_t home) {
    const std::uint32_t end = plane_.homes[home].sw;
    nearest_first(home);
    ++token_;
    for (const std::uint32_t s : order_) {
      Common& here = common_[s];
      here = {.next = s, .bridge = Plane::kNone, .depth = 0, .noted = here.noted};
      if (s == end) continue;
      std::uint32_t first = Plane::kNone;
      bool one_link = true, one_child = true;
      for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
        if (!state_.reach.leads(plane_, state_.directions, s, a, home)) continue;
        const std::uint32_t to = plane_.arcs[a].to;
        if (first == Plane::kNone) {
          first = a;
          here.next = to;
          continue;
        }
        one_link = false;
        one_child = one_child && to == plane_.arcs[first].to;
        here.next = meet(here.next, to);
      }
      if (first == Plane::kNone) continue;
      if (one_link) here.bridge = first;
      here.depth = common_[here.next].depth + 1;
      const bool planned_by_first = state_.plan->nominal.table.destinations() == 0;
      if (!one_child && planned_by_first && state_.directions[first] == ArcDirection::down) {
        far_reaching_[first] = 1;
        note(plane_.arcs[first].to);
      }
    }
    for (const Home& from : plane_.homes) {
      if (from.end_ports > 0 && state_.reach.total(from.sw)[home] != kUnreachable) note(from.sw);
    }
  }

  [[nodiscard]] std::vector<LinkId> links() const {
    std::vector<LinkId> links;
    for (std::uint32_t a = 0; a < plane_.arcs.size(); ++a) {
      if (far_reaching_[a] != 0) links.push_back(plane_.arcs[a].link);
    }
    std::ranges::sort(links);
    links.erase(std::ranges::unique(links).begin(), links.end());
    return links;
  }

 private:
  struct Common {
    std::uint32_t next = 0;               // the switch itself: none
    std::uint32_t bridge = Plane::kNone;  // arc
    std::uint32_t depth = 0;
    std::uint32_t noted = 0;  // token of the home for which the links from here on are noted
  };

  void nearest_first(std::uint32_t home) {
    order_.clear();
    for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
      if (state_.reach.total(s)[home] != kUnreachable) order_.push_back(s);
    }
    std::ranges::sort(order_, {}, [&](std::uint32_t s) { return state_.reach.total(s)[home]; });
  }
  [[nodiscard]] std::uint32_t meet(std::uint32_t a, std::uint32_t b) const {
    while (a != b) {
      std::uint32_t& deeper = common_[a].depth > common_[b].depth ? a : b;
      if (common_[deeper].next == deeper) return a;  // both are ends; cannot be
      deeper = common_[deeper].next;
    }
    return a;
  }
  void note(std::uint32_t s) {
    while (common_[s].noted != token_) {
      common_[s].noted = token_;
      if (common_[s].bridge != Plane::kNone) far_reaching_[common_[s].bridge] = 1;
      s = common_[s].next;
    }
  }

  const Plane& plane_;
  const PlaneState& state_;
  std::vector<Common> common_;              // by switch
  std::vector<std::uint8_t> far_reaching_;  // by arc
  std::vector<std::uint32_t> order_;
  std::uint32_t token_ = 0;
};

}  // namespace

std::vector<LinkId> far_reaching_links(const Plane& plane, const PlaneState& state) {
  if (!state.reach.layered() || state.flooded || state.live.drained_count > 0) return links_of(plane);
  CommonLinks common(plane, state);
  for (std::uint32_t home = 0; home < plane.homes.size(); ++home) {
    if (plane.homes[home].end_ports > 0) common.add_home(home);
  }
  return common.links();
}

}  // namespace railweave::fabric
