// Previews of drains against searches that follow every cable.
#include "services/control/decide/drain_preview.h"

#include <deque>
#include <map>
#include <random>
#include <set>

#include "fabric/formats/gpu/attach_gpus.h"
#include "fabric/routing/plane/route_trace.h"
#include "services/control/views/reachable_parts.h"
#include "tests/support/fat_trees.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::drain_preview_test {
namespace {

using fabric::FabricView;
using fabric::LinkId;
using fabric::PortId;
using fabric::SwitchId;
using fabric::Topology;

// Usable as documented: up, not drained, and no drained switch at its ends.
bool usable(const FabricView& view, LinkId link) {
  const Topology& topology = view.topology();
  if (view.state(link) == fabric::LinkState::down || view.drained(link)) return false;
  for (const PortId port : {topology.a(link), topology.b(link)}) {
    if (topology.is_switch_port(port) && view.drained(topology.switch_of(port))) return false;
  }
  return true;
}

// End ports that `from` can send to, cable by cable.
std::set<PortId> reach(const FabricView& view, PortId from) {
  const Topology& topology = view.topology();
  std::set<PortId> ends;
  std::set<SwitchId> seen;
  std::deque<SwitchId> open;
  if (!usable(view, topology.link(from))) return ends;
  open.push_back(topology.switch_of(topology.peer(from)));
  seen.insert(open.front());
  while (!open.empty()) {
    const SwitchId sw = open.front();
    open.pop_front();
    for (const PortId port : topology.ports(sw)) {
      if (!topology.link(port) || !usable(view, topology.link(port))) continue;
      const PortId peer = topology.peer(port);
      if (topology.is_hca_port(peer)) {
        if (peer != from) ends.insert(peer);
      } else if (seen.insert(topology.switch_of(peer)).second) {
        open.push_back(topology.switch_of(peer));
      }
    }
  }
  return ends;
}

// One of the largest remaining parts may be the one that stays connected; every other port that reached another one is
// cut off.
void expect_cut_off(const FabricView& before, const FabricView& after, std::uint64_t seed) {
  const Topology& topology = before.topology();
  const auto found = find_cut_off(before, after);
  const std::set<PortId> cut(found.begin(), found.end());
  EXPECT_EQ(cut.size(), found.size());
  std::set<PortId> done;
  ASSERT_FALSE(topology.hca_ports().empty());
  for (const PortId port : topology.hca_ports()) {
    if (!topology.link(port) || done.contains(port)) continue;
    std::set<PortId> all = reach(before, port);
    if (all.empty()) {
      EXPECT_FALSE(cut.contains(port)) << "it reached no other port before, seed " << seed;
      continue;
    }
    all.insert(port);
    done.insert(all.begin(), all.end());
    std::set<std::set<PortId>> parts;
    std::size_t largest = 0;
    for (const PortId one : all) {
      if (!usable(after, topology.link(one))) continue;
      auto part = reach(after, one);
      part.insert(one);
      largest = std::max(largest, part.size());
      parts.insert(std::move(part));
    }
    std::set<PortId> stays;
    for (const PortId one : all) {
      if (!cut.contains(one)) stays.insert(one);
    }
    EXPECT_EQ(stays.size(), largest) << "seed " << seed;
    EXPECT_TRUE(stays.empty() || parts.contains(stays)) << "seed " << seed;
  }
}

ClusterState state_of(fabric::TopologyPtr topology) {
  ClusterState state;
  state.accepted.digest = "some";
  state.set_topology(std::move(topology));
  return state;
}

TEST(DrainPreview, CutsOffWhatASearchFindsCutOff) {
  std::size_t cut_somewhere = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
    const auto topology = fabric::testing::make_fat_tree({.hosts_per_leaf = 1 + pick(3),
                                                          .leaves_per_pod = 1 + pick(3),
                                                          .spines_per_pod = 1 + pick(2),
                                                          .pods = 1 + pick(3),
                                                          .cores_per_spine = pick(3),
                                                          .aggregation_nodes = false,
                                                          .guid_seed = seed});
    FabricView before(topology);
    for (const auto link : topology->links()) {
      if (pick(6) == 0) before.set_state(link, fabric::LinkState::down);
      if (pick(12) == 0) before.set_drained(link, true);
    }
    for (int drains = 0; drains < 6; ++drains) {
      FabricView after = before;
      if (pick(2) == 0) {
        after.set_drained(topology->links()[pick(static_cast<unsigned>(topology->links().size()))], true);
      } else {
        after.set_drained(topology->switches()[pick(static_cast<unsigned>(topology->switches().size()))], true);
      }
      expect_cut_off(before, after, seed);
      cut_somewhere += find_cut_off(before, after).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(cut_somewhere, 100U);
}

class PreviewTest : public ::testing::Test {
 protected:
  // Two hosts on each of four leaves, two spines: every leaf has two uplinks.
  const fabric::TopologyPtr topology_ = fabric::testing::make_fat_tree(
      {.hosts_per_leaf = 2, .leaves_per_pod = 4, .spines_per_pod = 2, .pods = 1, .cores_per_spine = 0});
  ClusterState state_ = state_of(topology_);
  RoutingCache cache_;

  DrainPreview preview(DrainKind kind, const std::string& name) {
    const auto target = resolve(*topology_, kind, name);
    EXPECT_TRUE(target);
    const auto result = preview_drain(state_, **cache_.at(state_), *target);
    EXPECT_TRUE(result);
    return *result;
  }
  [[nodiscard]] std::string uplink(const std::string& leaf) const {
    for (const PortId port : topology_->ports(topology_->find_switch(leaf))) {
      const auto link = topology_->link(port);
      if (link && topology_->joins_switches(link)) return topology_->link_text(link);
    }
    return {};
  }
  [[nodiscard]] std::string host_link(const std::string& node) const {
    return topology_->link_text(topology_->link(topology_->ports(topology_->hcas(topology_->find_host(node))[0])[0]));
  }
};

TEST_F(PreviewTest, OneOfTwoUplinksIsSafeAndCostsCapacity) {
  const auto seen = preview(DrainKind::link, uplink("p0-leaf-0"));
  EXPECT_TRUE(seen.safe());
  EXPECT_TRUE(seen.cut_off.empty());
  ASSERT_TRUE(seen.tables);
  EXPECT_TRUE(seen.tables->verified);
  EXPECT_DOUBLE_EQ(seen.residual_capacity, 7.0 / 8) << "eight cables between leaves and spines";
  EXPECT_GT(seen.tables->changed_entries, 0U);
  EXPECT_GE(seen.tables->max_link_load_after, seen.tables->max_link_load_before);
}

TEST_F(PreviewTest, TheSecondUplinkCutsTheLeafOff) {
  const std::string first = uplink("p0-leaf-0");
  state_.mark(*resolve(*topology_, DrainKind::link, first), true);
  std::string second;
  for (const PortId port : topology_->ports(topology_->find_switch("p0-leaf-0"))) {
    const auto link = topology_->link(port);
    if (link && topology_->joins_switches(link) && topology_->link_text(link) != first) {
      second = topology_->link_text(link);
    }
  }
  const auto seen = preview(DrainKind::link, second);
  EXPECT_FALSE(seen.safe());
  EXPECT_EQ(seen.cut_off.size(), 2U) << "the two hosts of the leaf";
  EXPECT_NE(seen.objections.front().find("cuts off 2 end ports: node-0/mlx5_0, node-1/mlx5_0"), std::string::npos)
      << seen.objections.front();
}

TEST_F(PreviewTest, ASpineIsSafeAndALeafIsNotUntilItsNodesAreDrained) {
  EXPECT_TRUE(preview(DrainKind::network_switch, "p0-spine-0").safe());
  EXPECT_EQ(preview(DrainKind::network_switch, "p0-spine-0").residual_capacity, 0.5);
  EXPECT_FALSE(preview(DrainKind::network_switch, "p0-leaf-1").safe());
  for (const char* node : {"node-2", "node-3"}) state_.mark(*resolve(*topology_, DrainKind::node, node), true);
  const auto seen = preview(DrainKind::network_switch, "p0-leaf-1");
  EXPECT_TRUE(seen.safe()) << seen.objections.front();
  EXPECT_EQ(seen.cut_off.size(), 2U);
}

TEST_F(PreviewTest, ANodesOwnCableIsNoObjectionByItself) {
  const auto seen = preview(DrainKind::link, host_link("node-5"));
  EXPECT_TRUE(seen.safe());
  ASSERT_EQ(seen.cut_off.size(), 1U);
  EXPECT_EQ(topology_->name(topology_->host(topology_->hca_of(seen.cut_off.front()))), "node-5");
}

TEST_F(PreviewTest, CountsTheEntriesThatChange) {
  const auto before = *cache_.at(state_);
  unsigned checked = 0;
  for (const auto link : topology_->links()) {
    if (!topology_->joins_switches(link)) continue;
    const auto seen = preview(DrainKind::link, topology_->link_text(link));
    const auto after = *reroute(*before, [&] {
      FabricView view = state_.view;
      view.set_drained(link, true);
      return view;
    }());
    std::uint64_t entries = 0;
    for (const auto sw : topology_->switches()) {
      for (const auto to : before->scope().destinations()) {
        entries += before->routing.tables.out_port(sw, to) != after->routing.tables.out_port(sw, to) ? 1 : 0;
      }
    }
    EXPECT_EQ(seen.tables->changed_entries, entries);
    ++checked;
  }
  EXPECT_GT(checked, 0U);
}

// A job is rerouted exactly when the route of some packet between two of its nodes changes, walked hop by hop.
TEST(DrainPreview, JobsAreReroutedWhenARouteBetweenTheirNodesChanges) {
  fabric::TopologyBuilder builder;
  const auto tree = fabric::testing::make_fat_tree(
      {.hosts_per_leaf = 2, .leaves_per_pod = 2, .spines_per_pod = 2, .pods = 2, .cores_per_spine = 2});
  ASSERT_TRUE(fabric::read_native_json(fabric::write_native_json(*tree), {}, builder));
  ASSERT_TRUE(fabric::attach_gpus(builder, {.gpus_per_node = 1, .nvlink_domain_gpus = 0}));
  const auto topology = std::make_shared<const Topology>(std::move(builder).build().value());
  ClusterState state = state_of(topology);
  std::mt19937_64 random(7);
  std::map<JobId, std::vector<fabric::HostId>> nodes;
  for (std::uint64_t number = 1; number <= 3; ++number) {
    auto job = std::make_shared<Job>();
    job->id = JobId(number);
    job->spec.name = "job";
    job->spec.tenant = "research";
    for (std::size_t i = number; i < topology->hosts().size() && job->nodes.size() < number; i += 3) {
      const fabric::HostId host(i);
      if (state.allocations[host.index()].used != 0) continue;
      job->placement.gpu_of_rank.push_back(topology->gpus(host)[0]);
      job->nodes.emplace_back(topology->name(host));
      nodes[job->id].push_back(host);
    }
    state.restore(job);
  }
  RoutingCache cache;
  const auto before = *cache.at(state);
  std::size_t rerouted = 0;
  std::size_t spared = 0;
  for (const auto link : topology->links()) {
    if (!topology->joins_switches(link)) continue;
    const auto seen = preview_drain(state, *before, {DrainKind::link, topology->link_text(link)});
    ASSERT_TRUE(seen);
    FabricView view = state.view;
    view.set_drained(link, true);
    const auto after = *reroute(*before, view);
    for (const auto& [id, hosts] : nodes) {
      bool changes = false;
      for (const auto a : hosts) {
        for (const auto b : hosts) {
          if (a == b) continue;
          const PortId from = topology->ports(topology->hcas(a)[0])[0];
          const auto to = before->scope().find(topology->ports(topology->hcas(b)[0])[0]);
          const auto was = fabric::trace_route(state.view, before->routing.tables, before->routing.lanes, from, to);
          const auto is = fabric::trace_route(view, after->routing.tables, after->routing.lanes, from, to);
          for (std::size_t hop = 0; hop < std::max(was.hops.size(), is.hops.size()); ++hop) {
            changes =
                changes || hop >= was.hops.size() || hop >= is.hops.size() || was.hops[hop].out != is.hops[hop].out;
          }
        }
      }
      const bool told = std::ranges::any_of(seen->jobs, [&](const auto& job) { return job.id == id && job.rerouted; });
      EXPECT_EQ(told, changes) << to_string(id) << " and " << topology->link_text(link);
      ++(changes ? rerouted : spared);
    }
  }
  EXPECT_GT(rerouted, 3U);
  EXPECT_GT(spared, 3U);
}

}  // namespace
}  // namespace railweave::control::drain_preview_test
