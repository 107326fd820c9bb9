#include "fabric/routing/delta/forwarding_delta.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "fabric/base/check.h"
#include "fabric/routing/audit/transition.h"
#include "fabric/routing/delta/update_order.h"
#include "fabric/routing/plane/table_differences.h"

namespace railweave::fabric {

namespace {

class PlaneDelta {
 public:
  PlaneDelta(const RoutingScope& scope, const Plane& plane, const PlaneTables& before, const PlaneTables& after,
             const DeltaOptions& options)
      : scope_(scope), plane_(plane), before_(before), after_(after), options_(options) {
    for (std::size_t d = 0; d < plane.destination_count(); ++d) {
      const Lid lid = scope.lid(plane.destination(d));
      if (lid != 0)
        lids_[{subnet_of(d), static_cast<std::uint16_t>(lid / kLidsPerBlock)}].emplace_back(lid % kLidsPerBlock, d);
    }
  }

  void find_changes() {
    for_each_difference(before_, after_,
                        [&](const TableDifference& entry) { add_change(entry.sw, entry.destination); });
  }

  void write(bool drop_first, ForwardingDelta& delta) {
    delta.changed_entries += changed_entries_;
    without_lid(delta);
    for (auto& [block, changes] : changes_) {
      std::vector<ChangedEntry> entries;
      std::map<std::uint32_t, std::uint64_t> places_of;  // by switch
      std::uint64_t urgent = 0;
      for (const auto& [s, d] : changes) {
        const auto place = static_cast<std::uint32_t>(scope_.lid(plane_.destination(d)) % kLidsPerBlock);
        entries.push_back({s, place, ChangedEntry::kNone});
        places_of[s] |= std::uint64_t{1} << place;
        if (is_urgent(d)) urgent |= std::uint64_t{1} << place;
      }
      delta.changed_blocks += places_of.size();
      std::vector<BlockWrite> writes;
      if (drop_first) {
        for (const auto& [s, places] : places_of) writes.push_back({s, 0, places});
        for (const auto& [s, places] : places_of) writes.push_back({s, 1, places});
      } else {
        writes = ordered(changes, entries, places_of);
      }
      std::map<std::uint32_t, std::uint64_t> updated;  // by switch: places that have their new entries by then
      for (const BlockWrite& w : writes) {
        const bool drops = drop_first && w.stage == 0;
        if (!drops) updated[w.sw] |= w.places;
        LftBlock out{.sw = plane_.switches[w.sw], .number = block.second, .stage = w.stage};
        out.changed = static_cast<std::uint16_t>(__builtin_popcountll(w.places));
        out.urgent = (w.places & urgent) != 0;
        fill(block, w.sw, updated[w.sw], drops ? w.places : 0, out.ports);
        delta.stages = std::max<std::uint16_t>(delta.stages, static_cast<std::uint16_t>(w.stage + 1));
        delta.blocks.push_back(out);
      }
    }
  }
  [[nodiscard]] bool changed() const { return !changes_.empty(); }

 private:
  using Block = std::pair<std::size_t, std::uint16_t>;  // subnet, number

  [[nodiscard]] std::size_t subnet_of(std::size_t d) const {
    const SubnetId subnet = scope_.topology().subnet(plane_.switches[plane_.homes[plane_.destination_home[d]].sw]);
    return subnet ? subnet.index() : SIZE_MAX;
  }
  [[nodiscard]] bool is_urgent(std::uint32_t d) const {
    const std::size_t i = plane_.destination(d).index();
    return i < options_.urgent.size() && options_.urgent[i] != 0;
  }
  void add_change(std::uint32_t s, std::uint32_t d) {
    ++changed_entries_;
    const Lid lid = scope_.lid(plane_.destination(d));
    if (lid == 0) {
      ++without_lid_;
      return;
    }
    changes_[{subnet_of(d), static_cast<std::uint16_t>(lid / kLidsPerBlock)}].emplace_back(s, d);
  }
  void without_lid(ForwardingDelta& delta) const {
    if (without_lid_ == 0) return;
    delta.findings.push_back({"noLid",
                              Severity::warning,
                              std::to_string(without_lid_) +
                                  " changed entries are for ports without a LID and cannot be "
                                  "programmed into InfiniBand switches",
                              {}});
  }

  // Entries whose new route does not reach the destination are updated last, because upstream switches may use the old
  // ones until then.
  [[nodiscard]] std::vector<BlockWrite> ordered(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& changes,
                                                std::vector<ChangedEntry>& entries,
                                                const std::map<std::uint32_t, std::uint64_t>& places_of) {
    std::vector<ChangedEntry> leading;
    std::map<std::uint32_t, std::uint64_t> ending;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (arrives(changes[i])) {
        entries[i].after = next_changed(changes[i], places_of);
        leading.push_back(entries[i]);
      } else {
        ending[entries[i].sw] |= std::uint64_t{1} << entries[i].place;
      }
    }
    std::vector<BlockWrite> writes = order_updates(leading);
    std::uint16_t stage = 0;
    for (const BlockWrite& w : writes) stage = std::max(stage, static_cast<std::uint16_t>(w.stage + 1));
    for (const auto& [s, places] : ending) writes.push_back({s, stage, places});
    return writes;
  }
  // Whether the new route from s reaches d.
  [[nodiscard]] bool arrives(std::pair<std::uint32_t, std::uint32_t> change) const {
    const auto [s, d] = change;
    const std::uint32_t end = plane_.homes[plane_.destination_home[d]].sw;
    std::uint32_t at = s;
    for (std::size_t steps = 0; at != end; ++steps) {
      const std::uint32_t arc = plane_.find_arc(at, after_.at(at, d));
      if (arc == Plane::kNone || steps > plane_.switch_count()) return false;
      at = plane_.arcs[arc].to;
    }
    return true;
  }
  // The first switch after s on the new route to d whose entry for d changes.
  [[nodiscard]] std::uint32_t next_changed(std::pair<std::uint32_t, std::uint32_t> change,
                                           const std::map<std::uint32_t, std::uint64_t>& places_of) const {
    const auto [s, d] = change;
    const std::uint64_t bit = std::uint64_t{1} << (scope_.lid(plane_.destination(d)) % kLidsPerBlock);
    const std::uint32_t end = plane_.homes[plane_.destination_home[d]].sw;
    std::uint32_t at = s;
    for (std::size_t steps = 0; at != end && steps < plane_.switch_count(); ++steps) {
      const std::uint32_t arc = plane_.find_arc(at, after_.at(at, d));
      if (arc == Plane::kNone) break;
      at = plane_.arcs[arc].to;
      const auto found = places_of.find(at);
      if (at != s && found != places_of.end() && (found->second & bit) != 0) return at;
    }
    return ChangedEntry::kNone;
  }

  // The ports of a block of switch s where the entries in `updated` are new, those in `dropped` drop packets and the
  // others are old.
  void fill(const Block& block, std::uint32_t s, std::uint64_t updated, std::uint64_t dropped,
            std::array<std::uint16_t, kLidsPerBlock>& ports) const {
    ports.fill(kNoPort);
    const auto members = lids_.find(block);
    if (members == lids_.end()) return;
    for (const auto& [place, d] : members->second) {
      const std::uint64_t bit = std::uint64_t{1} << place;
      if ((dropped & bit) != 0) continue;
      ports[place] = ((updated & bit) != 0 ? after_ : before_).at(s, d);
    }
  }

  const RoutingScope& scope_;
  const Plane& plane_;
  const PlaneTables& before_;
  const PlaneTables& after_;
  const DeltaOptions& options_;
  std::map<Block, std::vector<std::pair<std::uint32_t, std::uint32_t>>> lids_;     // (place, destination)
  std::map<Block, std::vector<std::pair<std::uint32_t, std::uint32_t>>> changes_;  // (switch, destination)
  std::size_t changed_entries_ = 0, without_lid_ = 0;
};

}  // namespace

ForwardingDelta compute_delta(const FabricView& view, const Routing& before, const Routing& after,
                              const DeltaOptions& options) {
  const RoutingScope& scope = after.tables.scope();
  RAILWEAVE_CHECK(&before.tables.scope() == &scope, "a delta is between tables of one scope");
  ForwardingDelta delta;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    if (plane.destination_count() == 0 || after.tables.shares_plane(before.tables, id)) continue;
    const PlaneTables &then = before.tables.plane(id), &now = after.tables.plane(id);
    RAILWEAVE_CHECK(then.same_shape(now), "tables of one scope have one shape");
    PlaneDelta changes(scope, plane, then, now, options);
    changes.find_changes();
    if (!changes.changed()) continue;
    const bool drop_first = may_deadlock_between(view, id, before, after);
    delta.drops_first = delta.drops_first || drop_first;
    changes.write(drop_first, delta);
  }
  if (delta.drops_first) {
    delta.findings.push_back({"dropsFirst",
                              Severity::warning,
                              "old and new routes together could deadlock; entries that change drop packets until all "
                              "earlier packets have left the fabric",
                              {}});
  }
  // Blocks with an urgent LID come first, with all their stages.
  std::map<std::pair<SubnetId, std::uint16_t>, bool> urgent;
  const auto key = [&](const LftBlock& block) { return std::pair(scope.topology().subnet(block.sw), block.number); };
  for (const LftBlock& block : delta.blocks) {
    bool& any = urgent[key(block)];
    any = any || block.urgent;
  }
  std::ranges::stable_sort(delta.blocks, {}, [&](const LftBlock& block) {
    return std::tuple(!urgent[key(block)], block.stage, !block.urgent, block.number, block.sw);
  });
  return delta;
}

}  // namespace railweave::fabric
