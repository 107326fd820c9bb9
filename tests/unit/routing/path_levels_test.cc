// Levels of paths as dumps tell them, against levels that the test itself drew: written in both forms, of irregular fabrics by seed; what
// is missing, foreign, contradictory and broken.
#include "fabric/routing/opensm/path_levels.h"

#include <algorithm>
#include <map>
#include <random>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/routing/plane/lanes.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric::path_levels_test {
namespace {

using ::testing::HasSubstr;

struct EndPort {
  DestinationId id;
  PlaneId plane;
  std::uint32_t home = 0;
  std::uint64_t guid = 0;
  unsigned lid = 0;
};

std::vector<EndPort> end_ports(const RoutingScope& scope) {
  std::vector<EndPort> ports;
  for (const DestinationId id : scope.destinations()) {
    const Destination& d = scope.destination(id);
    if (!d.port || d.kind == DestinationKind::switch_management || d.lid_offset != 0) continue;
    ports.push_back(
        {id, scope.plane_of(id), d.home.value(), scope.topology().port_guid(d.port).value(), scope.lid(id)});
  }
  return ports;
}

// Told: of a home switch and a port.
using Levels = std::map<std::pair<std::uint32_t, unsigned>, unsigned>;

std::string as_dump(const std::vector<EndPort>& ports, const Levels& levels) {
  std::string text;
  for (const EndPort& from : ports) {
    text += fmt::format("Channel Adapter 0x{:016x}, base LID {}, \"x\", port 1\n# LID  : SL : MTU : RATE\n", from.guid,
                        from.lid);
    for (const EndPort& to : ports) {
      const auto told = levels.find({from.home, to.lid});
      text += told == levels.end() ? fmt::format("0x{:04X} : UNREACHABLE\n", to.lid)
                                   : fmt::format("0x{:04X} : {:<2} : 4   : 3   \n", to.lid, told->second);
    }
    text += "\n";
  }
  return text;
}

std::string as_records(const std::vector<EndPort>& ports, const Levels& levels) {
  const auto gid = [](std::uint64_t guid) {
    return fmt::format("fe80::{:x}:{:x}:{:x}:{:x}", guid >> 48U, guid >> 32U & 0xffffU, guid >> 16U & 0xffffU,
                       guid & 0xffffU);
  };
  std::string text;
  for (const EndPort& from : ports) {
    for (const EndPort& to : ports) {
      const auto told = levels.find({from.home, to.lid});
      if (told == levels.end()) continue;
      text += fmt::format(
          "PathRecord dump:\n\t\tservice_id..............0x0000000000000000\n\t\tdgid....................{}\n"
          "\t\tsgid....................{}\n\t\tdlid....................{}\n\t\tslid....................{}\n"
          "\t\tqos_class...............0x0\n\t\tsl......................0x{:X}\n\t\tmtu.....................0x84\n",
          gid(to.guid), gid(from.guid), to.lid, from.lid, told->second);
    }
  }
  return text;
}

unsigned level_read(const PathLevels& read, const RoutingScope& scope, const EndPort& from, const EndPort& to) {
  const PlaneId plane = scope.plane_of(from.id);
  const std::size_t home = scope.plane(plane).destination_home[scope.local(from.id)];
  return read.of_plane[plane.index()][home * scope.plane(plane).destination_count() + scope.local(to.id)];
}

TEST(PathLevels, AreReadAsTheyWereDrawn) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const RoutingInput input = testing::input_of(testing::build(testing::random_graph(seed)));
    const auto ports = end_ports(*input.scope);
    std::mt19937_64 random(seed);
    Levels levels;
    for (const EndPort& from : ports) {
      for (const EndPort& to : ports) {
        if (to.plane == from.plane) levels.try_emplace({from.home, to.lid}, random() % 8);
      }
    }
    std::size_t pairs = 0;
    for (const EndPort& from : ports) pairs += std::ranges::count(ports, from.plane, &EndPort::plane);
    for (const std::string& text : {as_dump(ports, levels), as_records(ports, levels)}) {
      const auto read = read_path_levels(input.scope, text, {});
      ASSERT_TRUE(read) << read.error().text();
      EXPECT_EQ(read->paths, pairs);
      EXPECT_EQ(read->missing + read->unknown + read->differ, 0U);
      for (const EndPort& from : ports) {
        for (const EndPort& to : ports) {
          if (to.plane != from.plane) continue;
          EXPECT_EQ(level_read(*read, *input.scope, from, to), levels.at({from.home, to.lid})) << seed;
        }
      }
    }
  }
}

class OneFabric : public ::testing::Test {
 protected:
  RoutingInput input_ = testing::input_of(testing::build(testing::random_graph(3)));
  std::vector<EndPort> ports_ = end_ports(*input_.scope);
  Levels levels_;

  OneFabric() {
    for (const EndPort& from : ports_) {
      for (const EndPort& to : ports_) {
        if (to.plane == from.plane) levels_[{from.home, to.lid}] = 2;
      }
    }
  }
  [[nodiscard]] std::string error_of(const std::string& text) const {
    const auto read = read_path_levels(input_.scope, text, {});
    return read ? "" : read.error().text();
  }
};

TEST_F(OneFabric, WhatIsMissingForeignOrContradictoryIsCounted) {
  const EndPort& from = ports_.front();
  const auto to = std::ranges::find_if(
      ports_, [&](const EndPort& port) { return port.plane == from.plane && port.home != from.home; });
  ASSERT_NE(to, ports_.end());
  Levels some = levels_;
  some.erase({from.home, to->lid});
  const auto less = read_path_levels(input_.scope, as_dump(ports_, some), {});
  ASSERT_TRUE(less);
  EXPECT_EQ(less->missing, 1U);
  EXPECT_EQ(level_read(*less, *input_.scope, from, *to), PathLevels::kUntold);

  std::string text = as_dump(ports_, levels_);
  text += "Channel Adapter 0x00000000deadbeef, base LID 9, \"gone\", port 1\n0x0001 : 1  : 4   : 3\n";
  text +=
      fmt::format("Channel Adapter 0x{:x}, base LID 9, \"x\", port 1\n0x{:04X} : 5  : 4   : 3\n", from.guid, to->lid);
  const auto more = read_path_levels(input_.scope, text, {});
  ASSERT_TRUE(more);
  EXPECT_EQ(more->unknown, 1U);
  EXPECT_EQ(more->differ, 1U);
  EXPECT_EQ(level_read(*more, *input_.scope, from, *to), 2U) << "what was read first counts";
}

TEST_F(OneFabric, BrokenTextIsRefusedWithItsLine) {
  const std::string head = fmt::format("Channel Adapter 0x{:x}, base LID 9, \"x\", port 1\n", ports_.front().guid);
  EXPECT_THAT(error_of("0x0001 : 1  : 4   : 3\n"), HasSubstr("line 1"));
  EXPECT_THAT(error_of(head + "0x0001 : 16 : 4   : 3\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of(head + "0xC000 : 1  : 4   : 3\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of(head + "0x0001\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of("Channel Adapter 0xzz, base LID 9, \"x\", port 1\n"), HasSubstr("line 1"));
  EXPECT_THAT(error_of("PathRecord dump:\n\t\tsl......................0x77\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of("PathRecord dump:\n\t\tsl......................0x1\n"),
              HasSubstr("no path between ports of this fabric"));
  const std::string whole = as_records(ports_, levels_) + as_dump(ports_, levels_);
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {  // cut off or garbled anywhere: an error or less, never more
    std::string text = whole.substr(0, random() % whole.size());
    if (!text.empty() && i % 2 == 0) text[random() % text.size()] = static_cast<char>(random() % 256);
    const auto read = read_path_levels(input_.scope, text, {});
    if (read) {
      EXPECT_LE(read->levels, kMaxServiceLevels);
    }
  }
}

}  // namespace
}  // namespace railweave::fabric::path_levels_test
