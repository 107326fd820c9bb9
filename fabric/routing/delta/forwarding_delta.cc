#include "fabric/routing/delta/forwarding_delta.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "fabric/routing/audit/mixture.h"
#include "fabric/routing/audit/transition.h"
#include "fabric/routing/delta/change_groups.h"
#include "fabric/routing/delta/update_order.h"
#include "fabric/routing/plane/table_differences.h"

namespace railweave::fabric {

namespace {

constexpr std::uint16_t kLastStage = UINT16_MAX;  // of a phase
constexpr unsigned kMaxGroups = 100;
constexpr std::uint8_t kDrops = 254, kLeftOut = 255;  // instead of a group

// Blocks of all planes by phase; packets leave the fabric between phases. Stages are numbered within a phase until
// they are joined.
struct PhasedDelta {
  ForwardingDelta delta;
  std::vector<std::size_t> phase_of;  // as delta.blocks
  std::vector<std::uint16_t> stages;  // by phase

  void put(std::size_t phase, const LftBlock& block) {
    if (stages.size() <= phase) stages.resize(phase + 1, 0);
    if (block.stage != kLastStage) stages[phase] = std::max(stages[phase], static_cast<std::uint16_t>(block.stage + 1));
    delta.blocks.push_back(block);
    phase_of.push_back(phase);
  }
  ForwardingDelta joined() && {
    std::vector<bool> has_last(stages.size(), false);
    for (std::size_t i = 0; i < phase_of.size(); ++i) {
      if (delta.blocks[i].stage == kLastStage) has_last[phase_of[i]] = true;
    }
    std::vector<std::uint16_t> first;
    for (std::size_t p = 0; p < stages.size(); ++p) {
      first.push_back(delta.stages);
      if (p != 0) delta.waits.push_back(delta.stages);
      delta.stages = static_cast<std::uint16_t>(delta.stages + stages[p] + (has_last[p] ? 1 : 0));
    }
    for (std::size_t i = 0; i < phase_of.size(); ++i) {
      std::uint16_t& stage = delta.blocks[i].stage;
      const std::size_t p = phase_of[i];
      stage = static_cast<std::uint16_t>(first[p] + (stage == kLastStage ? stages[p] : stage));
    }
    return std::move(delta);
  }
};

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
  // In the order in which they are to change.
  [[nodiscard]] std::vector<std::uint32_t> destinations(const TableChange& change) const {
    std::vector<std::uint32_t> all;
    for (const auto& [block, changes] : changes_) {
      for (const auto& [s, d] : changes) all.push_back(d);
    }
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    std::vector<std::uint32_t> broken = broken_before(change, all);
    if (options_.only_broken) return broken;
    const auto is_broken = [&](std::uint32_t d) { return std::ranges::binary_search(broken, d); };
    std::ranges::stable_sort(all, {}, [&](std::uint32_t d) { return std::pair(!is_broken(d), !is_urgent(d)); });
    return all;
  }
  [[nodiscard]] std::vector<std::uint32_t> all_destinations() const {
    std::vector<std::uint32_t> all(plane_.destination_count());
    for (std::uint32_t d = 0; d < all.size(); ++d) all[d] = d;
    return all;
  }

  // Groups of destinations, one after the other, and those that drop packets first. The last wait is theirs.
  void write(const ChangeGroups& groups, PhasedDelta& phased) {
    without_lid(phased.delta);
    std::vector<std::uint8_t> group_of(plane_.destination_count(), kLeftOut);
    for (std::size_t g = 0; g < groups.proven.size(); ++g) {
      for (const std::uint32_t d : groups.proven[g]) group_of[d] = static_cast<std::uint8_t>(g);
    }
    const bool drops = options_.may_drop && !groups.unproven.empty();
    for (const std::uint32_t d : groups.unproven) {
      if (drops) group_of[d] = kDrops;
    }
    const std::size_t dropped_in = groups.proven.empty() ? 0 : groups.proven.size() - 1;
    for (const auto& [block, changes] : changes_) {
      std::map<std::uint32_t, std::uint64_t> updated;  // by switch: places that have their new entries by then
      std::set<std::uint32_t> changed;
      for (std::size_t g = 0; g < groups.proven.size(); ++g) {
        const Part part = part_of(changes, group_of, static_cast<std::uint8_t>(g), changed);
        for (const BlockWrite& w : ordered(part)) put(block, w, g, part, updated, 0, phased);
      }
      const Part dropping = part_of(changes, group_of, kDrops, changed);
      for (const auto& [s, places] : dropping.places_of) {
        put(block, {s, kLastStage, places}, dropped_in, dropping, updated, places, phased);
      }
      for (const auto& [s, places] : dropping.places_of) {
        put(block, {s, 0, places}, dropped_in + 1, dropping, updated, 0, phased);
      }
      phased.delta.drops_first = phased.delta.drops_first || !dropping.places_of.empty();
      phased.delta.changed_blocks += changed.size();
      phased.delta.left_out += static_cast<std::size_t>(
          std::ranges::count_if(changes, [&](const auto& one) { return group_of[one.second] == kLeftOut; }));
    }
    phased.delta.changed_entries += changed_entries_;
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
    delta.findings.push_back(
        {"noLid",
         Severity::warning,
         fmt::format("{} changed entries are for ports without a LID and cannot be programmed into InfiniBand switches",
                     without_lid_),
         {}});
  }

  // What changes in a block for some of the destinations.
  struct Part {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> changes;  // (switch, destination)
    std::map<std::uint32_t, std::uint64_t> places_of;              // by switch
    std::uint64_t urgent = 0;
  };
  [[nodiscard]] Part part_of(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& changes,
                             const std::vector<std::uint8_t>& group_of, std::uint8_t group,
                             std::set<std::uint32_t>& changed) const {
    Part part;
    for (const auto& [s, d] : changes) {
      if (group_of[d] != group) continue;
      part.changes.emplace_back(s, d);
      part.places_of[s] |= std::uint64_t{1} << place_of(d);
      if (is_urgent(d)) part.urgent |= std::uint64_t{1} << place_of(d);
      changed.insert(s);
    }
    return part;
  }
  [[nodiscard]] std::uint32_t place_of(std::uint32_t d) const {
    return static_cast<std::uint32_t>(scope_.lid(plane_.destination(d)) % kLidsPerBlock);
  }
  // dropped: the places that this write sets to drop packets.
  void put(const Block& block, const BlockWrite& write, std::size_t phase, const Part& part,
           std::map<std::uint32_t, std::uint64_t>& updated, std::uint64_t dropped, PhasedDelta& phased) const {
    if (dropped == 0) updated[write.sw] |= write.places;
    LftBlock out{.sw = plane_.switches[write.sw], .number = block.second, .stage = write.stage};
    out.changed = static_cast<std::uint16_t>(__builtin_popcountll(write.places));
    out.urgent = (write.places & part.urgent) != 0;
    fill(block, write.sw, updated[write.sw], dropped, out.ports);
    phased.put(phase, out);
  }

  // Entries whose new route does not reach the destination are updated last, because upstream switches may use the old
  // ones until then.
  [[nodiscard]] std::vector<BlockWrite> ordered(const Part& part) const {
    std::vector<ChangedEntry> leading;
    std::map<std::uint32_t, std::uint64_t> ending;
    for (const auto& [s, d] : part.changes) {
      if (arrives({s, d})) {
        leading.push_back({s, place_of(d), next_changed({s, d}, part.places_of)});
      } else {
        ending[s] |= std::uint64_t{1} << place_of(d);
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

// Earlier tables of the plane that lead packets otherwise, or on other levels, than those there are.
std::vector<const Routing*> regarded(PlaneId id, const Routing& before, const DeltaOptions& options) {
  std::vector<const Routing*> earlier = options.earlier;
  std::erase_if(earlier, [&](const Routing* one) {
    return one->tables.shares_plane(before.tables, id) && lanes_of(one->lanes, id) == lanes_of(before.lanes, id);
  });
  return earlier;
}

// Packets by those can be followed, and do not wait in a circle already, in which nothing would be proven.
bool can_regard(const FabricView& view, PlaneId id, const Routing& before, const Routing& after,
                const DeltaOptions& options) {
  const std::vector<const Routing*> earlier = regarded(id, before, options);
  const PlaneLanes& lanes = lanes_of(before.lanes, id);
  if (earlier.empty() || !can_be_mixed(lanes, lanes_of(after.lanes, id))) return true;  // all that changes drops first
  const bool can_follow =
      std::ranges::all_of(earlier, [&](const Routing* one) { return can_be_mixed(lanes, lanes_of(one->lanes, id)); });
  return can_follow && !may_deadlock_between(view, id, before, before, earlier);
}

// is_easy: any mixture will do.
ChangeGroups groups_of(const FabricView& view, PlaneId id, const Routing& before, const Routing& after, bool is_easy,
                       const PlaneDelta& changes, const DeltaOptions& options) {
  if (is_easy && !options.only_broken) return {.proven = {changes.all_destinations()}, .unproven = {}};
  const Plane& plane = after.tables.scope().plane(id);
  const PortMap ports(plane, view);
  const PlaneLanes& old_lanes = lanes_of(before.lanes, id);
  TableChange change{plane,
                     ports,
                     before.tables.plane(id),
                     after.tables.plane(id),
                     old_lanes,
                     options.lanes_stay ? old_lanes : lanes_of(after.lanes, id)};
  for (const Routing* one : regarded(id, before, options))
    change.earlier.push_back({&one->tables.plane(id), &lanes_of(one->lanes, id)});
  std::vector<std::uint32_t> destinations = changes.destinations(change);
  if (is_easy) return {.proven = {std::move(destinations)}, .unproven = {}};
  ChangeGroups groups = group_changes(change, destinations, std::min<std::size_t>(kMaxGroups, options.most_waits + 1U));
  // Where packets have to be dropped, one of the waits is for them.
  const bool drops = options.may_drop && !groups.unproven.empty();
  if (drops && groups.proven.size() > options.most_waits) {
    groups.unproven.insert(groups.unproven.end(), groups.proven.back().begin(), groups.proven.back().end());
    groups.proven.pop_back();
  }
  return groups;
}

}  // namespace

void wait_first(ForwardingDelta& delta) {
  if (delta.waits.empty() || delta.waits.front() != 0) delta.waits.insert(delta.waits.begin(), 0);
}

ForwardingDelta compute_delta(const FabricView& view, const Routing& before, const Routing& after,
                              const DeltaOptions& options) {
  const RoutingScope& scope = after.tables.scope();
  RAILWEAVE_CHECK(&before.tables.scope() == &scope, "a delta is between tables of one scope");
  PhasedDelta phased;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    if (plane.destination_count() == 0 || after.tables.shares_plane(before.tables, id)) continue;
    const PlaneTables &then = before.tables.plane(id), &now = after.tables.plane(id);
    RAILWEAVE_CHECK(then.same_shape(now), "tables of one scope have one shape");
    PlaneDelta changes(scope, plane, then, now, options);
    changes.find_changes();
    if (!changes.changed()) continue;
    const bool is_easy = !may_deadlock_between(view, id, before, after, regarded(id, before, options));
    if (!is_easy && !can_regard(view, id, before, after, options)) {
      DeltaOptions alone = options;
      alone.earlier.clear();
      ForwardingDelta delta = compute_delta(view, before, after, alone);
      wait_first(delta);
      return delta;
    }
    changes.write(groups_of(view, id, before, after, is_easy, changes, options), phased);
  }
  ForwardingDelta delta = std::move(phased).joined();
  delta.may_stop = before.lanes.planes == after.lanes.planes;
  if (delta.drops_first) {
    delta.findings.push_back({"dropsFirst",
                              Severity::warning,
                              "some old and new routes together could deadlock; their entries drop packets until all "
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
