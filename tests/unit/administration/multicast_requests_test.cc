// Joining and leaving multicast groups. Records are written and read by libibumad's layout of them; who is in which group is compared
// with a plain model.
#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <utility>

#include <arpa/inet.h>
#include <endian.h>
#include <gtest/gtest.h>
#include <infiniband/mad.h>
#include <infiniband/umad_sa_mcm.h>

#include "fabric/drivers/infiniband/administration/administrator.h"
#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/administered_fabric.h"
#include "tests/support/seeds.h"

namespace railweave::fabric::infiniband::multicast_requests_test {
namespace {

using testing::AdministeredFabric;
using Wire = umad_sa_mcmember_record;
constexpr std::uint64_t kKey = 0x5a17, kPrefix = 0xfe80000000000000;
constexpr unsigned kMgid = 1U << 0U, kPort = 1U << 1U, kQueueKey = 1U << 2U, kMtuSelector = 1U << 4U, kMtu = 1U << 5U,
                   kTrafficClass = 1U << 6U, kPkey = 1U << 7U, kRateSelector = 1U << 8U, kRate = 1U << 9U,
                   kLevel = 1U << 12U, kFlow = 1U << 13U, kHops = 1U << 14U, kScope = 1U << 15U, kState = 1U << 16U;
constexpr unsigned kJoin = kMgid | kPort | kState, kCreate = kJoin | kQueueKey | kTrafficClass | kPkey | kLevel | kFlow;

struct Subnet {
  RoutingInput input;
  std::unique_ptr<AdministeredFabric> fabric;
  Registrations book;

  explicit Subnet(std::shared_ptr<const std::vector<PortTables>> tables = nullptr,
                  std::vector<PartitionService> partitions = {}, std::size_t hosts = 12,
                  const MulticastBounds& bounds = {})
      : book{.multicast = MulticastBook(bounds), .services = ServiceBook()} {
    auto topology = std::make_shared<const Topology>(generate("fat-tree", {{"hosts", std::to_string(hosts)},
                                                                           {"radix", "8"},
                                                                           {"tiers", "2"},
                                                                           {"gpus-per-host", "1"},
                                                                           {"nics-per-host", "1"}})
                                                         .value());
    input.view = FabricView(topology);
    input.scope = RoutingScope::make(topology, {.switch_management = true}).value();
    fabric = std::make_unique<AdministeredFabric>(
        choose_engine(*input.scope).engine->route(input).value(), kKey, [](PortId) { return std::uint8_t{4}; },
        std::move(tables), std::move(partitions));
    book.multicast.follow(subnet());
  }
  [[nodiscard]] const AdministeredSubnet& subnet() const { return fabric->subnet(); }
  // An adapter's port.
  [[nodiscard]] const AdministeredSubnet::EndPort& host(std::size_t i) const {
    std::size_t seen = 0;
    for (const auto& end : subnet().end_ports()) {
      if (end.port && seen++ == i) return end;
    }
    ADD_FAILURE() << "no host " << i;
    return subnet().end_ports().front();
  }
  SaAnswer ask(std::size_t from, unsigned method, const Wire& record, std::uint64_t mask, std::uint64_t key = 0) {
    Mad mad{};
    mad_set_field(mad.data(), 0, IB_MAD_BASEVER_F, 1);
    mad_set_field(mad.data(), 0, IB_MAD_MGMTCLASS_F, IB_SA_CLASS);
    mad_set_field(mad.data(), 0, IB_MAD_CLASSVER_F, 2);
    mad_set_field(mad.data(), 0, IB_MAD_METHOD_F, method & 0x7fU);
    mad_set_field(mad.data(), 0, IB_MAD_ATTRID_F, UMAD_SA_ATTR_MCMEMBER_REC);
    mad_set_field64(mad.data(), 0, IB_SA_MKEY_F, key);
    mad_set_field64(mad.data(), 0, IB_SA_COMPMASK_F, mask);
    std::memcpy(mad.data() + IB_SA_DATA_OFFS, &record, sizeof(record));
    return administer(&subnet(), mad, host(from).lid, &book);
  }
  SaAnswer set(std::size_t from, const Wire& record, std::uint64_t mask) {
    return ask(from, UMAD_METHOD_SET, record, mask);
  }
  SaAnswer remove(std::size_t from, const Wire& record) { return ask(from, UMAD_SA_METHOD_DELETE, record, kJoin); }
  std::vector<Wire> table(std::size_t from, std::uint64_t key, const Wire& record = {}, std::uint64_t mask = 0) {
    const SaAnswer answer = ask(from, UMAD_SA_METHOD_GET_TABLE, record, mask, key);
    std::vector<Wire> found(answer.record_count);
    for (std::size_t i = 0; i < found.size(); ++i) std::memcpy(&found[i], answer.records.data() + 56 * i, sizeof(Wire));
    return found;
  }
};

Wire record_of(const Subnet& subnet, std::size_t host, std::uint8_t state, const Mgid& mgid) {
  Wire wire{};
  std::memcpy(wire.mgid, mgid.data(), 16);
  const std::uint64_t prefix = htobe64(kPrefix), guid = htobe64(subnet.host(host).guid.value());
  std::memcpy(wire.portgid, &prefix, 8);
  std::memcpy(wire.portgid + 8, &guid, 8);
  wire.pkey = htons(0xffff);
  umad_sa_mcm_set_join_state(&wire, state);
  return wire;
}
Mgid mgid_of(unsigned number) {
  Mgid mgid{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff};
  write_be(mgid, 12, 4, number);
  return mgid;
}
Wire answered(const SaAnswer& answer) {
  Wire wire{};
  std::memcpy(&wire, answer.records.data(), std::min(sizeof(wire), answer.records.size()));
  return wire;
}
std::uint8_t state_of(const Wire& wire) { return wire.scope_state & 0x0fU; }

// As the kernel's IPoIB does it: the broadcast group as it is, then groups of its own with what that one said, a group to send to only.
TEST(Multicast, IpoibsSequenceEndsInItsGroups) {
  Subnet subnet;
  const Mgid broadcast = mgid_of(0xffffffff);
  std::set<unsigned> lids;
  for (std::size_t host = 0; host < 12; ++host) {
    const SaAnswer joined = subnet.set(host, record_of(subnet, host, 1, broadcast), kJoin);
    ASSERT_EQ(joined.status(), SaStatus::ok);
    EXPECT_EQ(joined.header.method, 0x81);
    const Wire group = answered(joined);
    EXPECT_EQ(ntohl(group.qkey), 0x0b1bU);
    EXPECT_EQ(ntohs(group.mlid), 0xc000);
    EXPECT_EQ(group.mtu, 0x84);
    EXPECT_EQ(group.rate, 0x83);
    EXPECT_EQ(ntohs(group.pkey), 0xffff);
    EXPECT_EQ(group.scope_state, 0x21);
    constexpr unsigned kOthers = kCreate | kMtuSelector | kMtu | kRateSelector | kRate | kHops;
    for (const unsigned address : {0x00000001U, 0x000000fbU}) {  // 224.0.0.1, 224.0.0.251
      Wire wanted = group;
      const Mgid mgid = mgid_of(address);
      std::memcpy(wanted.mgid, mgid.data(), 16);
      wanted.mlid = 0;
      umad_sa_mcm_set_join_state(&wanted, 1);
      const SaAnswer answer = subnet.set(host, wanted, kOthers);
      ASSERT_EQ(answer.status(), SaStatus::ok);
      lids.insert(ntohs(answered(answer).mlid));
      EXPECT_EQ(answered(answer).qkey, group.qkey);
    }
    const SaAnswer sends = subnet.set(host, record_of(subnet, host, 4, mgid_of(0x00000016)), kJoin);
    EXPECT_EQ(sends.status(), SaStatus::invalidRequest);  // it does not exist
  }
  EXPECT_EQ(lids, (std::set<unsigned>{0xc001, 0xc002}));
  EXPECT_EQ(subnet.table(3, kKey).size(), 3U * 12U);
  EXPECT_EQ(subnet.table(3, 0).size(), 3U);  // of who is in them only the trusted are told
  for (std::size_t host = 0; host < 12; ++host) {
    const SaAnswer left = subnet.remove(host, record_of(subnet, host, 1, mgid_of(1)));
    EXPECT_EQ(left.status(), SaStatus::ok);
    EXPECT_EQ(left.header.method, 0x95);
  }
  EXPECT_EQ(subnet.table(3, 0).size(), 2U);
  EXPECT_EQ(subnet.remove(0, record_of(subnet, 0, 1, mgid_of(1))).status(), SaStatus::invalidRequest);
}

TEST(Multicast, WhatIsWrongIsRefusedWithItsStatus) {
  Subnet subnet;
  const Mgid group = mgid_of(7);
  const auto status = [&](auto change, unsigned mask, std::size_t from = 1) {
    Wire wire = record_of(subnet, 1, 1, group);
    wire.mtu = 0x84;
    wire.rate = 0x83;
    change(wire);
    return subnet.set(from, wire, mask).status();
  };
  const auto as_is = [](Wire&) {};
  EXPECT_EQ(status(as_is, kMgid | kPort), SaStatus::lacksComponents);
  for (const unsigned without : {kQueueKey, kTrafficClass, kPkey, kLevel, kFlow}) {
    EXPECT_EQ(status(as_is, kCreate & ~without), SaStatus::lacksComponents) << without;
  }
  constexpr unsigned kRated = kCreate | kRateSelector | kRate, kSized = kCreate | kMtuSelector | kMtu;
  EXPECT_EQ(status([](Wire& w) { umad_sa_mcm_set_join_state(&w, 0); }, kCreate), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { umad_sa_mcm_set_join_state(&w, 2); }, kCreate), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.portgid[15] ^= 0x55U; }, kCreate), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.pkey = htons(0x8123); }, kCreate), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.rate = 0x80 | 24; }, kRated), SaStatus::invalidRequest);  // 1,200 Gb/s
  EXPECT_EQ(status([](Wire& w) { w.rate = 0x40 | 2; }, kRated), SaStatus::invalidRequest);   // less than 2.5
  EXPECT_EQ(status([](Wire& w) { w.mtu = 0x80 | 5; }, kSized), SaStatus::invalidRequest);    // ports take 2048
  EXPECT_EQ(status([](Wire& w) { w.mtu = 0x00 | 4; }, kSized), SaStatus::invalidRequest);
  for (const unsigned bad : {0xfaU, 0xefU, 0x0fU}) {
    EXPECT_EQ(status([&](Wire& w) { w.mgid[0] = static_cast<std::uint8_t>(bad); }, kCreate), SaStatus::invalidRequest);
  }
  EXPECT_EQ(status([](Wire& w) { w.mgid[1] = 0x22; }, kCreate), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.mgid[1] = 0x10; }, kCreate), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.mgid[2] = 0xa0; }, kCreate), SaStatus::invalidRequest);
  EXPECT_EQ(subnet.table(1, kKey).size(), 1U);  // only what was there

  ASSERT_EQ(status([](Wire& w) { w.qkey = htonl(5); }, kRated), SaStatus::ok);
  constexpr unsigned kAgain = kJoin;
  EXPECT_EQ(status([](Wire& w) { w.qkey = htonl(6); }, kAgain | kQueueKey), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.tclass = 1; }, kAgain | kTrafficClass), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.pkey = htons(0x8001); }, kAgain | kPkey), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.sl_flow_hop = umad_sa_mcm_set_sl_flow_hop(3, 0, 0); }, kAgain | kLevel),
            SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.sl_flow_hop = umad_sa_mcm_set_sl_flow_hop(0, 9, 0); }, kAgain | kFlow),
            SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.sl_flow_hop = umad_sa_mcm_set_sl_flow_hop(0, 0, 9); }, kAgain | kHops),
            SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.rate = 0x80 | 7; }, kAgain | kRateSelector | kRate), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.mtu = 0x40 | 4; }, kAgain | kMtuSelector | kMtu), SaStatus::invalidRequest);
  EXPECT_EQ(status([](Wire& w) { w.mtu = 0x00 | 3; }, kAgain | kMtuSelector | kMtu), SaStatus::ok);
  EXPECT_EQ(subnet.remove(2, record_of(subnet, 1, 1, group)).status(), SaStatus::invalidRequest);  // for another
  EXPECT_EQ(subnet.remove(1, record_of(subnet, 1, 4, group)).status(), SaStatus::invalidRequest);  // what it is not
  EXPECT_EQ(subnet.ask(1, UMAD_METHOD_GET, {}, kScope).status(), SaStatus::noRecords);
}

TEST(Multicast, OnesOwnGroupsAreGivenGidsAndWhatPortsCan) {
  Subnet subnet;
  std::set<std::string> seen;
  const auto rates = std::map<unsigned, unsigned>{{0x00 | 2, 5}, {0x40 | 5, 2}, {0x80 | 7, 7}};  // more, less, just
  for (const auto& [asked, given] : rates) {
    Wire wire = record_of(subnet, 1, 1, {});
    wire.rate = static_cast<std::uint8_t>(asked);
    wire.mtu = 0x40 | 4;
    wire.scope_state = 0x51;
    const SaAnswer answer = subnet.set(1, wire, kCreate | kRateSelector | kRate | kMtuSelector | kMtu | kScope);
    ASSERT_EQ(answer.status(), SaStatus::ok) << asked;
    const Wire group = answered(answer);
    EXPECT_EQ(group.rate, 0x80 | given) << asked;
    EXPECT_EQ(group.mtu, 0x80 | 3);
    EXPECT_EQ(group.mgid[0], 0xff);
    EXPECT_EQ(group.mgid[1], 0x15);
    EXPECT_EQ(group.scope_state, 0x51);
    EXPECT_TRUE(seen.insert(std::string(reinterpret_cast<const char*>(group.mgid), 16)).second);
  }
}

// Joined by another: that other's partitions count as well, and it may end the membership.
TEST(Multicast, APortJoinsForAnotherOfItsPartition) {
  auto tables = std::make_shared<std::vector<PortTables>>();
  const Subnet plain;
  for (std::size_t host = 0; host < 12; ++host) {
    PortTables& port = tables->emplace_back();
    port.port = {plain.subnet().nodes()[plain.host(host).node].info.node_guid, 1};
    port.pkeys = std::vector<std::uint16_t>{0x7fff, static_cast<std::uint16_t>(host < 6 ? 0x8001 : 0x8002)};
  }
  Subnet subnet(tables,
                {{.key = 1, .first_level = 3, .limit = RateMbps(5'000)}, {.key = 2, .first_level = 0, .limit = {}}});
  Mgid broadcast = mgid_of(0xffffffff);
  broadcast[4] = 0x80;
  broadcast[5] = 0x01;
  const SaAnswer joined = subnet.set(1, record_of(subnet, 0, 1, broadcast), kJoin);
  ASSERT_EQ(joined.status(), SaStatus::ok);
  EXPECT_EQ(answered(joined).proxy_join >> 7U, 1);
  EXPECT_EQ(answered(joined).rate, 0x82);  // the contract has 5 Gb/s
  EXPECT_EQ(ntohl(answered(joined).sl_flow_hop) >> 28U, 3U);
  EXPECT_EQ(subnet.set(7, record_of(subnet, 0, 1, broadcast), kJoin).status(), SaStatus::invalidRequest);
  EXPECT_EQ(subnet.set(7, record_of(subnet, 7, 1, broadcast), kJoin).status(), SaStatus::invalidRequest);
  EXPECT_EQ(subnet.table(1, 0).size(), 2U);  // the default partition's and its own
  EXPECT_EQ(subnet.table(1, kKey).size(), 3U);
  EXPECT_EQ(subnet.remove(7, record_of(subnet, 0, 1, broadcast)).status(), SaStatus::invalidRequest);
  EXPECT_EQ(subnet.remove(2, record_of(subnet, 0, 1, broadcast)).status(), SaStatus::ok);
}

// Whatever is asked in whatever order: groups and members are those of a plain model, and no two have one LID.
TEST(Multicast, GroupsAreThoseOfAPlainModel) {
  std::size_t ended = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < part_of_seeds(40); ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    Subnet subnet(nullptr, {}, 12, {.groups = 6, .memberships = 14, .groups_of_port = 4});
    std::map<unsigned, std::map<std::size_t, unsigned>> model{{0xffffffff, {}}};
    for (int step = 0; step < 300; ++step) {
      const unsigned numbers[] = {0xffffffff, 1, 2, 3, 4, 5, 6, 7};
      const unsigned number = numbers[random() % 8];
      const std::size_t host = random() % 6;
      const bool joins = random() % 8 < (step / 50 % 2 == 0 ? 7U : 2U);  // many, then few
      auto state = static_cast<std::uint8_t>(random() % 2 != 0 ? 1U << random() % 4 : 1 + random() % 15);
      const auto group = model.find(number);
      if (!joins && random() % 2 == 0 && group != model.end() && group->second.count(host) != 0) {
        state = static_cast<std::uint8_t>(group->second.at(host));  // it leaves for good
      }
      const Wire wire = record_of(subnet, host, state, mgid_of(number));
      std::size_t memberships = 0, own = 0;
      for (const auto& [n, members] : model) {
        memberships += members.size();
        own += members.count(host);
      }
      const bool is_in = group != model.end() && group->second.count(host) != 0;
      if (joins) {
        SaStatus expected = SaStatus::ok;
        if (group == model.end() && (state & 9U) == 0) expected = SaStatus::invalidRequest;
        if (expected == SaStatus::ok &&
            ((group == model.end() && model.size() >= 6) || (!is_in && (memberships >= 14 || own >= 4)))) {
          expected = SaStatus::noResources;
        }
        ASSERT_EQ(subnet.set(host, wire, group == model.end() ? kCreate : kJoin).status(), expected)
            << "seed " << seed << " step " << step;
        if (expected == SaStatus::ok) model[number][host] |= state;
        refused += expected == SaStatus::noResources ? 1 : 0;
      } else {
        const bool may = is_in && (state & ~group->second.at(host)) == 0;
        ASSERT_EQ(subnet.remove(host, wire).status(), may ? SaStatus::ok : SaStatus::invalidRequest)
            << seed << " " << step;
        if (!may) continue;
        if ((group->second[host] &= ~unsigned{state}) == 0) group->second.erase(host);
        const bool is_kept = std::ranges::any_of(group->second, [](const auto& one) { return (one.second & 9U) != 0; });
        if (!is_kept && number != 0xffffffff) {
          model.erase(group);
          ++ended;
        }
      }
      std::multiset<std::tuple<unsigned, std::uint64_t, unsigned>> expected, found;
      for (const auto& [n, members] : model) {
        if (members.empty()) expected.emplace(n, 0, 0);
        for (const auto& [h, s] : members) expected.emplace(n, subnet.host(h).guid.value(), s);
      }
      std::map<unsigned, unsigned> lid_of;
      for (const Wire& one : subnet.table(0, kKey)) {
        std::uint32_t low = 0;
        std::uint64_t guid = 0;
        std::memcpy(&low, one.mgid + 12, 4);
        std::memcpy(&guid, one.portgid + 8, 8);
        found.emplace(ntohl(low), be64toh(guid), state_of(one));
        const unsigned lid = ntohs(one.mlid);
        EXPECT_EQ(lid_of.try_emplace(lid, ntohl(low)).first->second, ntohl(low));
        EXPECT_GE(lid, 0xc000U);
        EXPECT_LT(lid, 0xc006U);
      }
      ASSERT_EQ(found, expected) << "seed " << seed << " step " << step;
    }
  }
  EXPECT_GT(ended, 2 * part_of_seeds(40));
  EXPECT_GT(refused, 2 * part_of_seeds(40));
}

// A snapshot without a port: it has left its groups; one without switches that can hold more: no more groups.
TEST(Multicast, PortsThatAreGoneHaveLeft) {
  Subnet subnet, smaller(nullptr, {}, 4);
  const Mgid broadcast = mgid_of(0xffffffff);
  for (std::size_t host = 0; host < 12; ++host) {
    ASSERT_EQ(subnet.set(host, record_of(subnet, host, 1, broadcast), kJoin).status(), SaStatus::ok);
  }
  ASSERT_EQ(subnet.set(11, record_of(subnet, 11, 1, mgid_of(9)), kCreate).status(), SaStatus::ok);
  const std::uint64_t revision = subnet.book.multicast.revision();
  subnet.book.multicast.follow(subnet.subnet());
  EXPECT_EQ(subnet.book.multicast.revision(), revision);
  subnet.book.multicast.follow(smaller.subnet());
  EXPECT_NE(subnet.book.multicast.revision(), revision);
  EXPECT_EQ(subnet.book.multicast.memberships(), 4U);
  EXPECT_EQ(subnet.book.multicast.groups().size(), 1U);
}

}  // namespace
}  // namespace railweave::fabric::infiniband::multicast_requests_test
