// The dump piece by piece, and the digest of its entries, against tables read entry by entry and routes followed hop by
// hop: of irregular fabrics, whole ones and ones that links were cut in, and of tables with wrong entries.
#include "fabric/routing/opensm/fdbs_text.h"

#include <cstdio>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "fabric/routing/opensm/opensm_dumps.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using Line = std::pair<unsigned, unsigned>;                         // port, links
using Entries = std::map<std::uint64_t, std::map<unsigned, Line>>;  // by GUID and LID; unreachable ones left out

Entries followed(const ForwardingTables& tables, std::size_t& lost) {
  const RoutingScope& scope = tables.scope();
  Entries entries;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
      auto& of_switch = entries[scope.topology().guid(plane.switches[s]).value()];
      for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
        const unsigned lid = scope.lid(plane.destination(d));
        const std::uint16_t port = tables.plane(id).at(s, d);
        if (lid == 0) continue;
        const std::uint32_t home = plane.homes[plane.destination_home[d]].sw;
        unsigned links = 0;
        std::uint32_t at = s;
        while (at != home && at != Plane::kNone && links <= plane.switch_count()) {
          const std::uint32_t arc = plane.find_arc(at, tables.plane(id).at(at, d));
          at = arc == Plane::kNone ? Plane::kNone : plane.arcs[arc].to;
          ++links;
        }
        if (at != home || port == kNoPort) {
          ++lost;
          continue;
        }
        of_switch[lid] = {port, links + (plane.destination_port[d] != kPortZero ? 1 : 0)};
      }
    }
  }
  return entries;
}

Entries read(const std::string& text, std::size_t& lost) {
  Entries entries;
  std::uint64_t guid = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    unsigned lid = 0, port = 0, links = 0;
    unsigned long long switch_guid = 0;
    if (std::sscanf(line.c_str(), "dump_ucast_routes: Switch 0x%llx", &switch_guid) == 1) {
      guid = switch_guid;
      entries[guid];
    } else if (std::sscanf(line.c_str(), "0x%x : %u : %u : yes", &lid, &port, &links) == 3) {
      EXPECT_TRUE(entries[guid].emplace(lid, Line{port, links}).second);
    } else if (line.ends_with(": UNREACHABLE")) {
      ++lost;
    }
  }
  return entries;
}

std::uint64_t digest_of(const Entries& entries) {
  constexpr std::uint64_t kStart = 14695981039346656037U, kPrime = 1099511628211U;
  std::uint64_t all = kStart;
  for (const auto& [guid, of_switch] : entries) {
    std::uint64_t one = kStart;
    for (const auto& [lid, line] : of_switch) one = (one ^ (lid << 16U | line.first)) * kPrime;
    all = (all ^ guid) * kPrime;
    all = (all ^ one) * kPrime;
  }
  return all;
}

TEST(FdbsText, SaysWhatTheTablesDo) {
  std::size_t lost_in_all = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto topology = testing::build(seed % 2 == 0 ? testing::random_tree(seed) : testing::random_graph(seed));
    RoutingInput input = testing::input_of(topology, {.switch_management = seed % 3 == 0});
    for (const LinkId link : topology->links()) {
      if (seed % 4 == 0 && random() % 6 == 0) input.view.set_state(link, LinkState::down);
    }
    Routing routing = testing::routed(input);
    if (seed % 5 == 0) {
      const Plane& plane = input.scope->plane(PlaneId(0));
      PlaneTables wrong = routing.tables.plane(PlaneId(0));
      for (int i = 0; i < 20 && wrong.destinations() != 0; ++i) {
        const auto s = random() % plane.switch_count();
        PlaneTables::Editor(wrong).set(s, random() % plane.destination_count(),
                                       static_cast<std::uint16_t>(random() % (plane.port_count[s] + 1U)));
      }
      routing.tables.set_plane(PlaneId(0), std::move(wrong));
    }
    std::size_t lost = 0, unreachable = 0;
    const Entries expected = followed(routing.tables, lost);
    EXPECT_TRUE(read(write_fdbs(routing.tables), unreachable) == expected);
    EXPECT_EQ(unreachable, lost);
    EXPECT_EQ(entries_digest(routing.tables), digest_of(expected));
    lost_in_all += lost;
  }
  EXPECT_GT(lost_in_all, 1000U) << "too little was cut to mean anything";
}

TEST(FdbsText, NeedsNoMoreThanAPieceAtATime) {
  const auto topology = testing::build(testing::random_tree(6));
  const Routing routing = testing::routed(testing::input_of(topology));
  FdbsText text(routing.tables);
  std::string whole;
  while (const auto piece = text.next()) {
    EXPECT_FALSE(piece->empty());
    EXPECT_LE(piece->size(), FdbsText::kPieceBytes + 128);
    whole += *piece;
  }
  EXPECT_EQ(whole, write_fdbs(routing.tables));
  EXPECT_FALSE(text.next());
}

}  // namespace
}  // namespace railweave::fabric
