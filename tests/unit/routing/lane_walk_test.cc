// Lanes of paths by levels and by each switch's own map, against a walk of the test's own over the topology: random fabrics, routes,
// levels and maps by seed, with discarding lanes, missing rows and paths that no record tells.
#include "fabric/routing/opensm/lane_walk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/routing/opensm/lane_maps.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric::lane_walk_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Turn = std::tuple<SwitchId, unsigned, unsigned>;     // switch, port in, port out
using Channel = std::tuple<SwitchId, unsigned, unsigned>;  // switch, port out, lane
using Rows = std::map<Turn, LaneMap>;

struct Walked {
  unsigned lanes = 1;
  std::uint64_t discarded = 0;
  std::set<std::pair<SwitchId, unsigned>> unmapped;
  std::map<Channel, std::set<Channel>> waits;

  // Whether any channels wait for each other in a circle: those that no other waits for are removed until none is left.
  [[nodiscard]] bool circle() const {
    auto left = waits;
    for (bool removed = true; removed;) {
      removed = false;
      std::set<Channel> waited_for;
      for (const auto& [channel, others] : left) waited_for.insert(others.begin(), others.end());
      removed = std::erase_if(left, [&](const auto& entry) { return !waited_for.contains(entry.first); }) > 0;
    }
    return !left.empty();
  }
};

class Walk {
 public:
  Walk(const Topology& topology, const ForwardingTables& tables, const Rows* rows)
      : topology_(topology), tables_(tables), rows_(rows) {}

  // Packets of an adapter's port.
  void add(PortId source, DestinationId destination, PortId target, unsigned level) {
    PortId entered = topology_.peer(source);
    std::optional<Channel> before;
    for (int hops = 0; hops < 64; ++hops) {
      const SwitchId sw = topology_.switch_of(entered);
      const unsigned out = tables_.out_port(sw, destination);
      ASSERT_NE(out, kNoPort);
      const PortId leaves = topology_.ports(sw)[out - 1];
      unsigned lane = level;
      if (rows_ != nullptr) {
        const auto row = rows_->find({sw, topology_.number(entered), out});
        if (row == rows_->end()) walked.unmapped.emplace(sw, out);
        if (row != rows_->end()) lane = row->second[level];
        if (row != rows_->end() && lane == 15) {
          ++walked.discarded;
          return;
        }
      }
      entered = topology_.peer(leaves);
      if (entered == target) return;
      walked.lanes = std::max(walked.lanes, lane + 1);
      const Channel channel{sw, out, lane};
      walked.waits.try_emplace(channel);
      if (before) walked.waits[*before].insert(channel);
      before = channel;
    }
    FAIL() << "a loop of packets";
  }

  Walked walked;

 private:
  const Topology& topology_;
  const ForwardingTables& tables_;
  const Rows* rows_;
};

std::string as_dump(const Topology& topology, const Rows& rows) {
  std::string text;
  for (const SwitchId sw : topology.switches()) {
    text += fmt::format("Switch 0x{:016x}, base LID {}, \"{}\"\n#in out : 0  1  2\n#-----\n", topology.guid(sw).value(),
                        sw.index() + 1, topology.name(sw));
    for (const auto& [turn, map] : rows) {
      const auto& [of, in, out] = turn;
      if (of != sw) continue;
      text += fmt::format("{:<3} {:<3} :", in, out);
      for (const unsigned lane : map) text += fmt::format(" {:<2}", lane);
      text += "\n";
    }
    text += "\n";
  }
  return text;
}

// A few maps, mixed over the turns of all switches; `discards`, `gaps`: with lanes 15, with turns without a row.
Rows random_rows(const Topology& topology, bool discards, bool gaps, std::mt19937_64& random) {
  std::vector<LaneMap> kinds(1 + random() % 4);
  for (LaneMap& map : kinds) {
    for (auto& lane : map) lane = static_cast<std::uint8_t>(discards && random() % 12 == 0 ? 15 : random() % 4);
  }
  Rows rows;
  for (const SwitchId sw : topology.switches()) {
    for (unsigned in = 0; in <= topology.ports(sw).size(); ++in) {
      for (unsigned out = 1; out <= topology.ports(sw).size(); ++out) {
        if (!gaps || random() % 20 != 0) rows[{sw, in, out}] = kinds[random() % kinds.size()];
      }
    }
  }
  return rows;
}

// Shortest routes, by whichever neighbour comes first: unlike those of engines they may wait for each other in a circle.
ForwardingTables random_tables(const RoutingScopePtr& scope, std::mt19937_64& random) {
  ForwardingTables tables(scope);
  for (const PlaneId id : scope->planes()) {
    const Plane& plane = scope->plane(id);
    PlaneTables of_plane(plane.switch_count(), plane.destination_count(), plane.max_ports);
    {
      PlaneTables::Editor edit(of_plane);
      for (std::size_t d = 0; d < plane.destination_count(); ++d) {
        const std::uint32_t home = plane.homes[plane.destination_home[d]].sw;
        std::vector<std::uint16_t> port(plane.switch_count(), kNoPort);
        port[home] = plane.destination_port[d];
        std::vector<std::uint32_t> reached{home};
        for (std::size_t next = 0; next < reached.size(); ++next) {
          auto arcs = std::vector<Arc>(plane.arcs_of(reached[next]).begin(), plane.arcs_of(reached[next]).end());
          std::ranges::shuffle(arcs, random);
          for (const Arc& arc : arcs) {
            if (arc.to == home || port[arc.to] != kNoPort) continue;
            port[arc.to] = arc.to_port;
            reached.push_back(arc.to);
          }
        }
        for (std::size_t s = 0; s < plane.switch_count(); ++s) edit.set(s, d, port[s]);
      }
    }
    tables.set_plane(id, std::move(of_plane));
  }
  return tables;
}

TEST(LaneWalk, RandomLevelsAndMapsAreFollowedAsByHand) {
  unsigned with_circle = 0, without = 0, with_discards = 0, with_gaps = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const RoutingInput input =
        testing::input_of(testing::build(seed % 3 == 0 ? testing::random_tree(seed) : testing::random_graph(seed)));
    const RoutingScope& scope = *input.scope;
    const Topology& topology = scope.topology();
    const ForwardingTables tables = random_tables(input.scope, random);
    const bool maps_told = seed % 5 != 0;
    const Rows rows = random_rows(topology, seed % 2 == 0, seed % 4 == 0, random);
    const auto maps = LaneMaps::read(scope, as_dump(topology, rows));
    ASSERT_TRUE(maps) << maps.error().text();

    PathLevels levels;
    levels.levels = 1 + random() % 5;
    const unsigned few = random() % 4;  // of a hundred, paths on a level other than 0
    for (const PlaneId id : scope.planes()) {
      auto& of_plane = levels.of_plane.emplace_back(scope.plane(id).homes.size() * scope.plane(id).destination_count());
      for (auto& level : of_plane) {
        level = static_cast<std::uint8_t>(few == 0 || random() % 2 == 0 ? random() % levels.levels : 0);
        if (random() % 30 == 0) level = PathLevels::kUntold;
      }
    }
    Walk oracle(topology, tables, maps_told ? &rows : nullptr);
    for (const DestinationId from : scope.destinations()) {
      const Destination& source = scope.destination(from);
      if (source.kind == DestinationKind::switch_management || source.lid_offset != 0) continue;
      for (const DestinationId to : scope.destinations()) {
        const Destination& target = scope.destination(to);
        if (target.kind == DestinationKind::switch_management || scope.plane_of(to) != scope.plane_of(from)) continue;
        if (target.port == source.port || tables.out_port(source.home, to) == kNoPort) continue;
        const Plane& plane = scope.plane(scope.plane_of(from));
        const std::uint8_t told =
            levels.of_plane[scope.plane_of(from).index()]
                           [plane.destination_home[scope.local(from)] * plane.destination_count() + scope.local(to)];
        oracle.add(source.port, to, target.port, told == PathLevels::kUntold ? 0 : told);
      }
    }
    // Those to switches themselves count only where they are told: here none is.
    for (const PlaneId id : scope.planes()) {
      const Plane& plane = scope.plane(id);
      for (const Segment& segment : plane.segments) {
        if (segment.kind != DestinationKind::switch_management) continue;
        for (std::size_t d = segment.first; d < segment.first + segment.count; ++d) {
          for (std::size_t h = 0; h < plane.homes.size(); ++h) {
            levels.of_plane[id.index()][h * plane.destination_count() + d] = PathLevels::kUntold;
          }
        }
      }
    }
    const LaneUse use = follow_lanes(input.view, tables, std::vector<bool>(scope.planes().size(), true), levels,
                                     maps_told ? &*maps : nullptr);
    EXPECT_EQ(use.circles > 0, oracle.walked.circle());
    EXPECT_EQ(use.circle.empty(), use.circles == 0);
    EXPECT_EQ(use.lanes, oracle.walked.lanes);
    EXPECT_EQ(use.discarded, oracle.walked.discarded);
    EXPECT_EQ(use.discarded > 0, use.discarded_at.valid());
    EXPECT_EQ(use.unmapped, oracle.walked.unmapped.size());
    (use.circles > 0 ? with_circle : without) += 1;
    with_discards += use.discarded > 0 ? 1 : 0;
    with_gaps += use.unmapped > 0 ? 1 : 0;
  }
  EXPECT_GT(with_circle, 10U);
  EXPECT_GT(without, 10U);
  EXPECT_GT(with_discards, 10U);
  EXPECT_GT(with_gaps, 10U);
}

class LaneMapsOfOneFabric : public ::testing::Test {
 protected:
  RoutingInput input_ = testing::input_of(testing::build(testing::random_graph(3)));
  const Topology& topology_ = input_.scope->topology();
  SwitchId sw_ = topology_.switches().front();
  std::string head_ =
      fmt::format("Switch 0x{:016x}, base LID 16, \"x\"\n#in out : 0  1\n#------\n", topology_.guid(sw_).value());
  std::string row_ = "1   2   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  15\n";

  [[nodiscard]] std::string error_of(const std::string& text) const {
    const auto read = LaneMaps::read(*input_.scope, text);
    return read ? "" : read.error().text();
  }
};

TEST_F(LaneMapsOfOneFabric, EachPairOfPortsHasItsOwn) {
  ASSERT_GE(topology_.ports(sw_).size(), 2U);
  const auto read = LaneMaps::read(
      *input_.scope,
      head_ + row_ + "2   1   : 1  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7 \n" +
          "200 201 : 1  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7 \n" +
          "Switch 0x00000000deadbeef, base LID 9, \"gone\"\n" + row_ +
          "Channel Adapter 0x1, base LID 4, \"H-1\"\n0   1   : 3  3  3  3  3  3  3  3  3  3  3  3  3  3  3  3 \n");
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_TRUE(read->find(sw_, 1, 2) && read->find(sw_, 2, 1));
  EXPECT_EQ((*read->find(sw_, 1, 2))[0], 0);
  EXPECT_EQ((*read->find(sw_, 1, 2))[15], 15);
  EXPECT_EQ((*read->find(sw_, 2, 1))[0], 1);
  EXPECT_EQ(read->find(sw_, 1, 1), nullptr);
  EXPECT_EQ(read->find(sw_, 1, 300), nullptr);
  EXPECT_EQ(read->rows(), 2U);
  EXPECT_EQ(read->unknown(), 2U);
  EXPECT_EQ(read->kinds(), 2U);
  EXPECT_EQ(read->lanes(1), 2U);
  EXPECT_EQ(read->lanes(16), 8U);
}

TEST_F(LaneMapsOfOneFabric, BrokenTextIsRefusedWithItsLine) {
  EXPECT_THAT(error_of(head_ + "1   2   : 0  1  2\n"), HasSubstr("line 4"));
  EXPECT_THAT(error_of(head_ + row_ + "1   300 : 0\n"), HasSubstr("line 5"));
  EXPECT_THAT(error_of(head_ + "1   2   : 16 1  2  3  4  5  6  7  0  1  2  3  4  5  6  7\n"), HasSubstr("line 4"));
  EXPECT_THAT(error_of("Switch 0xzz, base LID 9, \"x\"\n"), HasSubstr("line 1"));
  EXPECT_THAT(error_of("nothing\n"), AllOf(HasSubstr("no row"), HasSubstr("opensm-sl2vl.dump")));
  EXPECT_THAT(error_of("Switch 0x00000000deadbeef, base LID 9, \"gone\"\n" + row_), HasSubstr("of this fabric"));
  std::mt19937_64 random(7);
  const std::string whole = head_ + row_ + row_ + head_ + row_;
  for (int i = 0; i < 300; ++i) {  // cut off or garbled anywhere: an error or less, never more
    std::string text = whole.substr(0, random() % whole.size());
    if (!text.empty() && i % 2 == 0) text[random() % text.size()] = static_cast<char>(random() % 256);
    const auto read = LaneMaps::read(*input_.scope, text);
    if (read) {
      EXPECT_LE(read->rows(), 3U);
    }
  }
}

}  // namespace
}  // namespace railweave::fabric::lane_walk_test
