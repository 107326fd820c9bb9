// Every real file: tables are verified, and the load of the fullest link does not exceed that of the best engine of
// OpenSM 3.3.23 that is free of deadlocks there (host traffic; measured on ibsim with the same netlists, see
// tests/bench/opensm.sh).
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "fabric/formats/read_fabric.h"
#include "fabric/routing/audit/audit.h"
#include "fabric/routing/engine_registry.h"
#include "fabric/topology/topology_builder.h"
#include "tests/unit/routing/naive_checker.h"

namespace railweave::fabric {
namespace {

const std::map<std::string, std::uint64_t> kMaxLoad{
    {"ib/dgx-h100-ndr.ibnetdiscover.txt", 925},  // dfsssp
    {"ib/k-4-n-3-full.ibnetdiscover.txt", 124},  // ftree
    {"ib/psmn-x5.ibnetdiscover.txt", 170},       // dfsssp
    {"ib/loginoff.ibnetdiscover.txt", 472},      // updn, dfsssp, nue
    {"ib/selene.storage.txt", 9580},             // minhop: 9,581; updn: 9,603 to 9,733
    {"ibsim/12-ary-2-tree.net", 132},            // ftree, updn, dfsssp
    {"ibsim/12-node-spaced.net", 9},             // all
    {"ibsim/2-ary-4-tree.net", 14},              // ftree
    {"ibsim/32nodes-3lvl-is1.net", 28},          // ftree
    {"ibsim/4-ary-2-tree.net", 12},              // all
    {"ibsim/4-ary-3-tree.net", 60},              // ftree
    {"ibsim/4-ary-4-tree.net", 252},             // ftree
    {"ibsim/IS3-128.net", 161},                  // dfsssp
    {"ibsim/blend-4-ary-2-tree.net", 12},        // all
    {"ibsim/half-4-ary-3-tree.net", 28},         // ftree
    {"ibsim/part-4-ary-3-tree.net", 44},         // ftree
};

TopologyPtr read(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  TopologyBuilder builder;
  EXPECT_TRUE(read_into(text, Format::unknown, {.source = path.filename().string()}, builder));
  return std::make_shared<const Topology>(std::move(builder).build().value());
}

class RealFabrics : public ::testing::TestWithParam<std::pair<const std::string, std::uint64_t>> {};

TEST_P(RealFabrics, AreVerifiedAndNoLinkIsFullerThanWithOpenSm) {
  const auto& [name, most] = GetParam();
  const std::filesystem::path path = std::filesystem::path(RAILWEAVE_SHARED_DATA) / name;
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "skipped: " << name << " is absent from " << RAILWEAVE_SHARED_DATA;
  const TopologyPtr topology = read(path);
  RoutingInput input{.view = FabricView(topology), .scope = RoutingScope::make(topology).value()};
  const RoutingEngine& engine = *choose_engine(*input.scope).engine;
  const Routing routing = engine.route(input).value();
  const AuditReport report = audit(input.view, routing.tables, routing.lanes);
  EXPECT_EQ(report.unreachable_pairs, 0U);
  EXPECT_EQ(report.credit_loops, 0U);
  EXPECT_LE(report.max_link_load_hosts, most);
  RecordProperty("maxLinkLoadHosts", static_cast<int>(report.max_link_load_hosts));
  if (input.scope->destinations().size() < 700) {
    const auto naive = testing::check_naively(input.view, routing);
    EXPECT_EQ(naive.unreachable, 0U) << naive.text();
    EXPECT_FALSE(naive.credit_loop);
    EXPECT_EQ(naive.max_host_load, report.max_link_load_hosts);
    EXPECT_EQ(naive.max_load, report.max_link_load);
  }
  // Any one of several cables lost: still verified.
  for (std::size_t i = 0; i < 6; ++i) {
    const LinkId link(topology->links().size() * i / 6);
    if (!topology->joins_switches(link)) continue;
    RoutingInput broken = input;
    broken.view.set_state(link, LinkState::down);
    const Routing rerouted = engine.reroute(routing, broken).value();
    const AuditReport after = audit(broken.view, rerouted.tables, rerouted.lanes, {.shift_samples = 0});
    EXPECT_TRUE(after.verified()) << topology->link_text(link);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, RealFabrics, ::testing::ValuesIn(kMaxLoad.begin(), kMaxLoad.end()),
                         [](const auto& file) {
                           std::string name;
                           for (const char c : file.param.first) name += std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace railweave::fabric
