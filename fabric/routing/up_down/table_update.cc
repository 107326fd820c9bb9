#include "fabric/routing/up_down/table_update.h"

#include <algorithm>
#include <utility>

#include "fabric/routing/up_down/table_fill.h"

namespace railweave::fabric {

namespace {

// (switch, home) pairs whose entries may change, each once.
class AffectedBlocks {
 public:
  AffectedBlocks(std::size_t switches, std::size_t homes) : homes_(homes), seen_(switches * homes, false) {}
  [[nodiscard]] bool has(std::uint32_t s, std::uint32_t home) const { return seen_[s * homes_ + home]; }
  void add(std::uint32_t s, std::uint32_t home) {
    if (seen_[s * homes_ + home]) return;
    seen_[s * homes_ + home] = true;
    blocks_.emplace_back(s, home);
  }
  [[nodiscard]] const std::vector<std::pair<std::uint32_t, std::uint32_t>>& sorted() {
    std::ranges::sort(blocks_);
    return blocks_;
  }

 private:
  std::size_t homes_;
  std::vector<bool> seen_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks_;
};

// Finds the blocks of entries, by (switch, home), that may differ between two states.
class ChangedBlocks {
 public:
  // Where one arc up is no longer a next hop and nothing else differs, only the destinations on its port move.
  struct LostPort {
    std::uint32_t s, home;
    std::uint16_t port;
  };

  ChangedBlocks(const Plane& plane, const PlaneState& before, const PlaneState& after)
      : plane_(plane),
        before_(before),
        after_(after),
        layered_(before.reach.layered() && after.reach.layered()),
        affected_(plane.switch_count(), plane.homes.size()),
        losing_(plane.switch_count() * plane.homes.size(), false) {}

  // The distance of a switch to a home changed: its own entries, and those of neighbours that may reach it.
  void add_moved(const Reach::Change& change) {
    const auto [s, home] = change;
    affected_.add(s, home);
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
      const std::uint32_t back = plane_.arcs[a].reverse;
      if (before_.directions[back] == ArcDirection::none && after_.directions[back] == ArcDirection::none) continue;
      if (layered_) {
        compare(plane_.arcs[a].to, back, home, true);
      } else {
        affected_.add(plane_.arcs[a].to, home);
      }
    }
  }
  void add_changed_arc(std::uint32_t a) {
    const std::uint32_t s = plane_.arcs[plane_.arcs[a].reverse].to;
    for (std::uint32_t home = 0; home < plane_.homes.size(); ++home) compare(s, a, home, false);
  }

  [[nodiscard]] AffectedBlocks& affected() { return affected_; }
  [[nodiscard]] const std::vector<LostPort>& lost() const { return lost_; }

 private:
  // Whether arc a of switch s is a next hop to the home before and after. An arc that did not change itself makes no
  // difference where the answers are the same.
  void compare(std::uint32_t s, std::uint32_t a, std::uint32_t home, bool same_arc) {
    const bool led = before_.reach.leads(plane_, before_.directions, s, a, home);
    const bool leads = after_.reach.leads(plane_, after_.directions, s, a, home);
    if (led == leads && (same_arc || !led)) return;
    if (layered_ && led && !leads && before_.directions[a] == ArcDirection::up &&
        !losing_[s * plane_.homes.size() + home]) {
      losing_[s * plane_.homes.size() + home] = true;
      lost_.push_back({s, home, plane_.arcs[a].port});
    } else {
      affected_.add(s, home);
    }
  }

  const Plane& plane_;
  const PlaneState& before_;
  const PlaneState& after_;
  bool layered_;
  AffectedBlocks affected_;
  std::vector<LostPort> lost_;
  std::vector<bool> losing_;
};

}  // namespace

std::size_t update_tables(const Plane& plane, const PlaneState& before, const PlaneState& after,
                          const std::vector<std::uint32_t>& changed_arcs, const std::vector<Reach::Change>& moved,
                          PlaneTables& tables) {
  ChangedBlocks blocks(plane, before, after);
  for (const Reach::Change& change : moved) blocks.add_moved(change);
  for (const std::uint32_t a : changed_arcs) blocks.add_changed_arc(a);

  std::size_t changed = 0;
  TableFill fill(plane, after.live, after.directions, after.reach, after.plan->nominal);
  PlaneTables::Editor editor(tables);
  std::vector<std::uint16_t> ports, old;
  const auto put = [&](std::uint32_t s, const Home& home) {
    for (std::uint32_t i = 0; i < home.count; ++i) {
      if (ports[i] == old[i]) continue;
      editor.set(s, home.first + i, ports[i]);
      ++changed;
    }
  };
  const auto read = [&](std::uint32_t s, const Home& home) {
    old.resize(home.count);
    tables.read(s, home.first, home.count, old.data());
  };
  for (const auto& [s, h] : blocks.affected().sorted()) {
    fill.block(s, h, ports);
    read(s, plane.homes[h]);
    put(s, plane.homes[h]);
  }
  for (const ChangedBlocks::LostPort& one : blocks.lost()) {
    if (blocks.affected().has(one.s, one.home)) continue;
    read(one.s, plane.homes[one.home]);
    ports = old;
    fill.without(one.s, one.home, one.port, ports);
    put(one.s, plane.homes[one.home]);
  }
  return changed;
}

}  // namespace railweave::fabric
