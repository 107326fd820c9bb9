// Devices in the places of others and hosts at other ports: offered as one change each, without service until then, and afterwards
// routed to, by hand and by policy. What switches hold is walked by hand.
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "fabric/formats/native/native_json.h"
#include "services/control/live/status/fabric_as_found.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

using fabric::TopologyBuilder;
using Json = nlohmann::json;

fabric::TopologyPtr read(const Json& document) {
  TopologyBuilder builder;
  EXPECT_TRUE(fabric::read_native_json(document.dump(), {.source = "a test"}, builder));
  return std::make_shared<const fabric::Topology>(std::move(builder).build().value());
}

class FoundChangesTest : public LiveTest {
 protected:
  // Leaves and spines with two free ports on each switch.
  void start_tree(AcceptReplacements policy = AcceptReplacements::never) {
    accept_replacements_ = policy;
    start();
    document_ = Json::parse(fabric::write_native_json(*fabric::testing::make_fat_tree(
        {.hosts_per_leaf = 3, .spines_per_pod = 3, .pods = 1, .cores_per_spine = 0, .gpus_per_host = 2})));
    for (Json& sw : document_["switches"]) sw["ports"] = sw["ports"].get<unsigned>() + 2;
    topology_ = truth_ = read(document_);
    switches_ = std::make_shared<fabric::SimulatedDriver>(topology_);
    must(accept(topology_));
    must(SetSubnetMode{"plane-0", SubnetMode::direct, "", {}});
    make_controller();
    settle();
    ASSERT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  }
  // What is there from now on, as the document says; all switches report it.
  void become() {
    truth_ = read(document_);
    std::vector<Guid> all;
    for (const auto sw : truth_->switches()) all.push_back(truth_->guid(sw));
    switches_->become(truth_, all);
    step(1);
    sweeps(2);
  }
  // Another adapter in the place of a host's.
  void exchange_adapter(std::size_t host, const std::string& guid, const std::string& description = "") {
    Json& adapter = document_["hosts"][host]["adapters"][0];
    adapter["guid"] = guid;
    for (Json& port : adapter["ports"]) port["guid"] = guid.substr(0, 15) + "f";
    if (!description.empty()) adapter["description"] = description;
  }
  void sweeps(unsigned count) {
    for (unsigned i = 0; i < count; ++i) step(10'000);
    settle();
  }
  // Pairs of adapters that are there and that tables do not bring together.
  [[nodiscard]] std::size_t lost() const {
    std::size_t lost = 0;
    const fabric::Topology& t = *truth_;
    for (const auto from : t.hcas()) {
      for (const auto to : t.hcas()) {
        if (from == to) continue;
        const auto lid = switches_->lid(t.guid(to), 1);
        auto at = t.peer(t.ports(from).front());
        bool arrives = false;
        for (unsigned hops = 0; at && lid != 0 && hops < 16; ++hops) {
          const auto sw = t.switch_of(at);
          const auto out = switches_->out_port(t.guid(sw), lid);
          if (out == 0 || out > t.ports(sw).size()) break;
          const auto next = t.peer(t.ports(sw)[out - 1U]);
          if (!next) break;
          if ((arrives = t.hca_of(next) == to)) break;
          at = t.switch_of(next) ? next : fabric::PortId();
        }
        lost += arrives ? 0 : 1;
      }
    }
    return lost;
  }
  [[nodiscard]] std::vector<FoundChange> offered() const {
    return status()->discovery.changes == nullptr ? std::vector<FoundChange>() : status()->discovery.changes->items;
  }
  void accept_all() {
    auto command = fabric_as_found(loop_->state()->accepted, offered());
    ASSERT_TRUE(command) << command.error().text();
    must(std::move(*command));
    sweeps(2);
  }
  void expect_served() {
    EXPECT_EQ(lost(), 0U);
    EXPECT_TRUE(offered().empty());
    EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
    EXPECT_EQ(alarms("device.exchanged") + alarms("host.moved"), 0U);
  }

  Json document_;  // of what is there
  fabric::TopologyPtr truth_;
};

TEST_F(FoundChangesTest, AnExchangedAdapterIsServedOnceItIsAccepted) {
  start_tree();
  const std::string node = document_["hosts"][4]["name"];
  exchange_adapter(4, "0000000000abc000");
  become();
  ASSERT_EQ(offered().size(), 1U);
  EXPECT_EQ(offered()[0].kind, FoundChange::Kind::exchangedAdapter);
  EXPECT_EQ(offered()[0].subject_id, node);
  EXPECT_TRUE(offered()[0].is_described_alike);
  EXPECT_GT(lost(), 0U) << "what was not accepted is not routed to";
  EXPECT_EQ(status()->phase, SubnetPhase::partial);
  EXPECT_NE(status()->problem.find("is exchanged"), std::string::npos) << status()->problem;
  EXPECT_EQ(alarms("device.exchanged"), 1U);
  accept_all();
  const auto& t = loop_->state()->topology();
  ASSERT_TRUE(t.find_hca(Guid(0xabc000)));
  EXPECT_EQ(t.name(t.host(t.find_hca(Guid(0xabc000)))), node);
  EXPECT_EQ(t.port_guid(t.ports(t.find_hca(Guid(0xabc000))).front()), Guid(0xabc00f));
  expect_served();
}

TEST_F(FoundChangesTest, AnExchangedSwitchIsServedAndDrainsFollowIt) {
  start_tree();
  std::size_t at = 0;
  while (topology_->is_leaf(topology_->find_switch(document_["switches"][at]["name"].get<std::string>()))) ++at;
  const std::string name = document_["switches"][at]["name"];
  const auto spine = topology_->find_switch(name);
  const std::string was = topology_->link_text(topology_->link(topology_->ports(spine).front()));
  must(RequestDrain{{DrainKind::link, was}, "repair", true, {}, loop_->state()->view_version});
  settle();
  document_["switches"][at]["guid"] = "0000000000abc000";
  become();
  ASSERT_EQ(offered().size(), 1U);
  EXPECT_EQ(offered()[0].kind, FoundChange::Kind::exchangedSwitch);
  EXPECT_EQ(offered()[0].subject_id, name);
  accept_all();
  expect_served();
  const auto state = loop_->state();
  const auto now = state->topology().find_switch(Guid(0xabc000));
  ASSERT_TRUE(now);
  const auto link = state->topology().link(state->topology().ports(now).front());
  EXPECT_TRUE(state->view.drained(link));
  EXPECT_TRUE(state->drains->contains({DrainKind::link, state->topology().link_text(link)}));
  EXPECT_FALSE(state->drains->contains({DrainKind::link, was}));
}

TEST_F(FoundChangesTest, AMovedHostIsServedWithThoseWhosePlacesItTook) {
  start_tree();
  // The last host goes to a free port of the first host's leaf, and the first host to the place of the last.
  const auto port_of = [&](std::size_t host) -> Json& {
    const std::size_t adapter = document_["switches"].size() + host;
    for (Json& link : document_["links"]) {
      if (link[0] == adapter || link[2] == adapter) return link;
    }
    return document_["links"][0];
  };
  const std::size_t last = document_["hosts"].size() - 1;
  const auto ends = [](Json& link, std::size_t switches) {
    return link[0].get<std::size_t>() < switches ? std::pair(&link[0], &link[1]) : std::pair(&link[2], &link[3]);
  };
  const std::size_t switches = document_["switches"].size();
  const auto [leaf, port] = ends(port_of(0), switches);
  const auto [far, far_port] = ends(port_of(last), switches);
  const Json free = document_["switches"][leaf->get<std::size_t>()]["ports"];
  const Json first = *leaf;
  *leaf = *far;
  *port = *far_port;
  *far = first;
  *far_port = free;
  become();
  ASSERT_EQ(offered().size(), 1U);
  EXPECT_EQ(offered()[0].kind, FoundChange::Kind::movedHost);
  EXPECT_EQ(offered()[0].cables.size(), 2U);
  EXPECT_GT(lost(), 0U);
  EXPECT_EQ(alarms("host.moved"), 1U);
  accept_all();
  expect_served();
}

TEST_F(FoundChangesTest, APolicyAcceptsWhatIsDescribedAlikeAndNothingElse) {
  start_tree(AcceptReplacements::sameDescription);
  exchange_adapter(1, "0000000000abc000");
  exchange_adapter(2, "0000000000def000", "MT4129 ConnectX7 Mellanox Technologies");
  become();
  sweeps(8);
  ASSERT_EQ(offered().size(), 1U);
  EXPECT_FALSE(offered()[0].is_described_alike);
  EXPECT_TRUE(loop_->state()->topology().find_hca(Guid(0xabc000)));
  EXPECT_FALSE(loop_->state()->topology().find_hca(Guid(0xdef000)));
  accept_all();
  expect_served();
}

// An adapter that is elsewhere as well, or a port that leads to one that is accepted, is no exchange.
TEST_F(FoundChangesTest, NothingIsOfferedWhereNothingIsInThePlace) {
  start_tree();
  std::erase_if(document_["links"].get_ref<Json::array_t&>(), [&](const Json& link) {
    const std::size_t adapter = document_["switches"].size() + 3;
    return link[0] == adapter || link[2] == adapter;
  });
  become();
  EXPECT_TRUE(offered().empty()) << "it is gone";
  EXPECT_EQ(status()->links_now().down, 1U);
}

}  // namespace
}  // namespace railweave::control
