// Requests to the subnet's administration on generated fabrics. Datagrams are written and answers read with libibmad; paths are
// compared with route_trace.h, which follows tables by other code; partitions with a plain search.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mad.h>

#include "fabric/drivers/infiniband/administration/administrator.h"
#include "fabric/drivers/infiniband/administration/path_records.h"
#include "fabric/drivers/infiniband/administration/rmpp_sender.h"
#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "fabric/routing/plane/route_trace.h"
#include "tests/support/administered_fabric.h"

namespace railweave::fabric::infiniband::administration_test {
namespace {

using testing::AdministeredFabric;
constexpr std::uint64_t kKey = 0x5a17;

std::uint8_t mtu_of(PortId port) { return static_cast<std::uint8_t>(3 + port.value() * 7 % 3); }

struct Fabric {
  RoutingInput input;
  Routing routing;
  explicit Fabric(std::string_view kind, const GenerateParameters& parameters) {
    auto topology = std::make_shared<const Topology>(generate(kind, parameters).value());
    input.view = FabricView(topology);
    input.scope = RoutingScope::make(topology, {.switch_management = true}).value();
    routing = choose_engine(*input.scope).engine->route(input).value();
  }
  [[nodiscard]] const Topology& topology() const { return input.scope->topology(); }
};

Fabric tree() {
  return Fabric("fat-tree",
                {{"hosts", "24"}, {"radix", "8"}, {"tiers", "3"}, {"gpus-per-host", "1"}, {"nics-per-host", "1"}});
}
Fabric torus() {
  return Fabric(
      "torus",
      {{"x", "4"}, {"y", "4"}, {"z", "1"}, {"hosts-per-switch", "2"}, {"gpus-per-host", "1"}, {"nics-per-host", "1"}});
}

// A request, by libibmad.
Mad ask(unsigned method, unsigned attribute, std::uint64_t mask, std::uint64_t key = 0, std::uint64_t transaction = 1) {
  Mad mad{};
  mad_set_field(mad.data(), 0, IB_MAD_BASEVER_F, 1);
  mad_set_field(mad.data(), 0, IB_MAD_MGMTCLASS_F, IB_SA_CLASS);
  mad_set_field(mad.data(), 0, IB_MAD_CLASSVER_F, 2);
  mad_set_field(mad.data(), 0, IB_MAD_METHOD_F, method);
  mad_set_field(mad.data(), 0, IB_MAD_ATTRID_F, attribute);
  mad_set_field64(mad.data(), 0, IB_MAD_TRID_F, transaction);
  mad_set_field64(mad.data(), 0, IB_SA_MKEY_F, key);
  mad_set_field64(mad.data(), 0, IB_SA_COMPMASK_F, mask);
  return mad;
}
constexpr unsigned kGet = IB_MAD_METHOD_GET, kGetTable = IB_MAD_METHOD_GET_TABLE;
constexpr std::uint64_t kDlid = 1U << 4U, kSlid = 1U << 5U, kReversible = 1U << 11U;

Mad ask_path(Lid from, Lid to, unsigned method = kGet, std::uint64_t key = 0) {
  Mad mad = ask(method, IB_SA_ATTR_PATHRECORD, kDlid | kSlid, key);
  mad_set_field(mad.data(), IB_SA_DATA_OFFS, IB_SA_PR_DLID_F, to);
  mad_set_field(mad.data(), IB_SA_DATA_OFFS, IB_SA_PR_SLID_F, from);
  return mad;
}
unsigned status_of(const Mad& mad) { return mad_get_field(const_cast<std::uint8_t*>(mad.data()), 0, IB_MAD_STATUS_F); }

void expect_paths(const Fabric& fabric) {
  const AdministeredFabric administered(fabric.routing, kKey, mtu_of);
  const AdministeredSubnet& subnet = administered.subnet();
  const Topology& t = fabric.topology();
  std::size_t pairs = 0, levels = 0;
  for (const auto& from : subnet.end_ports()) {
    if (!from.port) continue;
    for (const auto& to : subnet.end_ports()) {
      if (&from == &to) continue;
      const RouteTrace trace = trace_route(fabric.input.view, fabric.routing.tables, fabric.routing.lanes, from.port,
                                           subnet.destination(to.lid));
      const SaAnswer answer = administer(&subnet, ask_path(from.lid, to.lid), from.lid);
      ASSERT_EQ(answer.status() == SaStatus::ok, trace.end == TraceEnd::arrived);
      if (answer.status() != SaStatus::ok) continue;
      Mad mad = to_mad(answer);
      unsigned mtu = to.port ? 5 : subnet.pace(to).mtu;
      for (const TraceHop& hop : trace.hops) mtu = std::min<unsigned>({mtu, mtu_of(hop.out), mtu_of(hop.in)});
      EXPECT_EQ(mad[IB_SA_DATA_OFFS + 54], 0x80U | mtu);
      EXPECT_EQ(mad_get_field(mad.data(), IB_SA_DATA_OFFS, IB_SA_PR_SL_F), trace.service_level);
      EXPECT_EQ(mad_get_field(mad.data(), IB_SA_DATA_OFFS, IB_SA_PR_DLID_F), to.lid);
      EXPECT_EQ(mad_get_field(mad.data(), IB_SA_DATA_OFFS, IB_SA_PR_SLID_F), from.lid);
      if (from.port && to.port) {
        const RouteTrace back = trace_route(fabric.input.view, fabric.routing.tables, fabric.routing.lanes, to.port,
                                            subnet.destination(from.lid));
        EXPECT_EQ((mad[IB_SA_DATA_OFFS + 49] & 0x80U) != 0, back.service_level == trace.service_level);
      }
      levels += trace.service_level;
      ++pairs;
    }
  }
  EXPECT_GT(pairs, t.hca_ports().size() * (t.hca_ports().size() - 1));
  if (fabric.routing.lanes.used() > 1) {
    EXPECT_GT(levels, 0U);
  }
}

TEST(SubnetAdministration, PathsOnATreeAreAsTablesLead) { expect_paths(tree()); }
TEST(SubnetAdministration, PathsOnATorusHaveTheirLevels) { expect_paths(torus()); }

TEST(SubnetAdministration, NoPathLeadsOverAnEntryThatDrops) {
  Fabric fabric = tree();
  const PlaneId plane(0);
  PlaneTables tables = fabric.routing.tables.plane(plane);
  const PortId first = *fabric.topology().hca_ports().begin();
  const DestinationId id = fabric.input.scope->find(first);
  {
    PlaneTables::Editor editor(tables);
    for (std::size_t s = 0; s < tables.switches(); ++s) editor.set(s, fabric.input.scope->local(id), kNoPort);
  }
  fabric.routing.tables.set_plane(plane, tables);
  const AdministeredFabric administered(fabric.routing, kKey, mtu_of);
  const Lid lost = fabric.input.scope->lid(id);
  std::size_t answered = 0;
  for (const auto& port : administered.subnet().end_ports()) {
    const SaAnswer to = administer(&administered.subnet(), ask_path(port.lid, lost), port.lid);
    if (port.lid != lost) {
      EXPECT_EQ(to.status(), SaStatus::noRecords);
    }
    answered += administer(&administered.subnet(), ask_path(lost, port.lid), lost).status() == SaStatus::ok ? 1 : 0;
  }
  EXPECT_GT(answered, 20U);  // the other direction is as it was
}

// Two keys at most between the ports of a random case, members full or limited.
TEST(SubnetAdministration, PathsNeedASharedPartitionWithAFullMember) {
  const Fabric fabric = tree();
  std::mt19937 random(7);
  for (int round = 0; round < 5; ++round) {
    auto tables = std::make_shared<std::vector<PortTables>>();
    std::map<Guid, std::vector<std::uint16_t>> keys;
    for (const HcaId hca : fabric.topology().hcas()) {
      auto& own = keys[fabric.topology().guid(hca)];
      own.push_back(random() % 3 == 0 ? 0x7fff : random() % 2 == 0 ? 0 : 0xffff);
      own.push_back(static_cast<std::uint16_t>((random() % 2) << 15U | (1 + random() % 3)));
      PortTables& port = tables->emplace_back();
      port.port = {fabric.topology().guid(hca), 1};
      port.pkeys = own;
    }
    const AdministeredFabric administered(fabric.routing, kKey, mtu_of, tables,
                                          {{.key = 2, .first_level = 4, .limit = RateMbps(50'000)}});
    const AdministeredSubnet& subnet = administered.subnet();
    std::size_t shared = 0, separate = 0;
    for (const auto& a : subnet.end_ports()) {
      for (const auto& b : subnet.end_ports()) {
        if (!a.port || !b.port || &a == &b) continue;
        std::uint16_t expected = 0;
        for (const std::uint16_t x : keys[subnet.nodes()[a.node].info.node_guid]) {
          for (const std::uint16_t y : keys[subnet.nodes()[b.node].info.node_guid]) {
            if (expected == 0 && x % 0x8000 != 0 && x % 0x8000 == y % 0x8000 && (x >= 0x8000 || y >= 0x8000))
              expected = x;
          }
        }
        const SaAnswer answer = administer(&subnet, ask_path(a.lid, b.lid), a.lid);
        ASSERT_EQ(answer.status() == SaStatus::ok, expected != 0) << a.lid << " " << b.lid;
        // The key of trust shows what is there, and no more.
        ASSERT_EQ(administer(&subnet, ask_path(a.lid, b.lid, kGet, kKey), a.lid).status() == SaStatus::ok,
                  expected != 0);
        ++(expected != 0 ? shared : separate);
        if (expected == 0) continue;
        const Mad mad = to_mad(answer);
        EXPECT_EQ(mad[IB_SA_DATA_OFFS + 50] << 8U | mad[IB_SA_DATA_OFFS + 51], expected);
        const bool is_served = expected % 0x8000 == 2;
        EXPECT_EQ(mad[IB_SA_DATA_OFFS + 53] & 15U, is_served ? 4U : 0U);
        EXPECT_EQ(mad[IB_SA_DATA_OFFS + 55] & 63U, is_served ? 20U : 21U);  // 50 and 400 Gb/s
      }
    }
    EXPECT_GT(shared, 0U);
    EXPECT_GT(separate, 0U);
  }
}

TEST(SubnetAdministration, WhatIsAskedWrongIsAnsweredWithItsStatus) {
  const Fabric fabric = tree();
  const AdministeredFabric administered(fabric.routing, kKey, mtu_of);
  const AdministeredSubnet& subnet = administered.subnet();
  const Lid own = subnet.end_ports().back().lid;
  EXPECT_EQ(status_of(to_mad(administer(nullptr, ask_path(1, 2), own))), 1U);
  EXPECT_EQ(administer(&subnet, ask_path(own, 40'000), own).status(), SaStatus::noRecords);
  EXPECT_EQ(administer(&subnet, ask(kGet, IB_SA_ATTR_PATHRECORD, 0), own).status(), SaStatus::lacksComponents);
  EXPECT_EQ(administer(&subnet, ask(kGet, IB_SA_ATTR_PATHRECORD, 1U << 2U), own).status(), SaStatus::invalidGid);
  EXPECT_EQ(administer(&subnet, ask(kGet, IB_SA_ATTR_NODERECORD, 0), own).status(), SaStatus::tooManyRecords);
  EXPECT_EQ(administer(&subnet, ask(kGet, 0x77, 0), own).status(), SaStatus::badAttribute);
  EXPECT_EQ(administer(&subnet, ask(IB_MAD_METHOD_SET, IB_SA_ATTR_NODERECORD, 0), own).status(), SaStatus::badMethod);
  EXPECT_EQ(administer(&subnet, ask_path(1, 2), 40'001).status(), SaStatus::invalidRequest);  // of no port
  const SaAnswer wrong = administer(&subnet, ask_path(own, own, kGet, kKey + 1), own);
  EXPECT_EQ(wrong.kind, SaAnswer::Kind::dropped);
  EXPECT_TRUE(wrong.wrong_key);
  Mad old = ask_path(own, own);
  old[2] = 1;
  EXPECT_EQ(administer(&subnet, old, own).status(), SaStatus::badVersion);
}

TEST(SubnetAdministration, OnlyTheTrustedSeeTablesOfOthers) {
  const Fabric fabric = tree();
  const AdministeredFabric administered(fabric.routing, kKey, mtu_of);
  const Lid own = administered.subnet().end_ports().back().lid;
  EXPECT_EQ(administer(&administered.subnet(), ask(kGetTable, IB_SA_ATTR_PKEYTABLERECORD, 0), own).record_count, 1U);
  EXPECT_EQ(administer(&administered.subnet(), ask(kGetTable, IB_SA_ATTR_PKEYTABLERECORD, 0, kKey), own).record_count,
            administered.subnet().end_ports().size());
}

// Whatever comes, each component that a record has finds it, and none that it has not.
TEST(SubnetAdministration, ComponentsSelectRecords) {
  const Fabric fabric = tree();
  const AdministeredFabric administered(fabric.routing, kKey, mtu_of);
  const AdministeredSubnet& subnet = administered.subnet();
  const SaAnswer all = administer(&subnet, ask(kGetTable, IB_SA_ATTR_NODERECORD, 0, kKey), 1);
  ASSERT_EQ(all.record_count, subnet.end_ports().size());
  // Where the components are, and how long (IBA 15.2.5.2).
  const std::map<unsigned, std::pair<unsigned, unsigned>> places = {
      {0, {0, 2}}, {4, {6, 1}}, {5, {7, 1}}, {6, {8, 8}}, {7, {16, 8}}, {8, {24, 8}}, {12, {40, 1}}, {14, {44, 64}}};
  for (const auto& [bit, place] : places) {
    for (std::size_t i = 0; i < all.record_count; i += 5) {
      const std::uint8_t* record = all.records.data() + i * 112;
      std::size_t expected = 0;
      for (std::size_t j = 0; j < all.record_count; ++j) {
        expected += std::equal(record + place.first, record + place.first + place.second,
                               all.records.data() + j * 112 + place.first)
                        ? 1
                        : 0;
      }
      Mad request = ask(kGetTable, IB_SA_ATTR_NODERECORD, std::uint64_t{1} << bit, kKey);
      std::copy_n(record, 108, request.begin() + IB_SA_DATA_OFFS);
      EXPECT_EQ(administer(&subnet, request, 1).record_count, expected) << bit;
    }
  }
}

TEST(SubnetAdministration, AnyDatagramIsAnsweredOrDropped) {
  const Fabric fabric = tree();
  const AdministeredFabric administered(fabric.routing, kKey, mtu_of);
  const AdministeredSubnet& subnet = administered.subnet();
  std::mt19937 random(11);
  std::set<SaStatus> seen;
  for (int i = 0; i < 20'000; ++i) {
    constexpr unsigned kAttributes[] = {1, 0x11, 0x12, 0x13, 0x14, 0x15, 0x18, 0x20, 0x33, 0x35, 0x38};
    Mad mad = ask(random() % 2 != 0 ? kGet : kGetTable, kAttributes[random() % 11], random() & random(),
                  random() % 2 != 0 ? kKey : 0);
    for (std::size_t b = IB_SA_DATA_OFFS; b < mad.size(); ++b)
      mad[b] = static_cast<std::uint8_t>(random() % 4 == 0 ? random() : 0);
    if (random() % 8 == 0) mad[random() % mad.size()] = static_cast<std::uint8_t>(random());
    const SaAnswer answer = administer(&subnet, mad, static_cast<Lid>(random() % 80));
    if (answer.kind == SaAnswer::Kind::dropped) continue;
    seen.insert(answer.status());
    EXPECT_NE(answer.header.method & 0x80U, 0U);
    EXPECT_LE(answer.records.size(), kMaxAnswerBytes);
    if (answer.kind == SaAnswer::Kind::datagram) {
      EXPECT_LE(answer.records.size(), kSaDataBytes);
    }
    if (answer.status() != SaStatus::ok) {
      EXPECT_TRUE(answer.records.empty());
    }
  }
  EXPECT_GT(seen.size(), 4U);
}

// A receiver as the specification has it, on a network that loses what it likes.
class Receiver {
 public:
  explicit Receiver(std::uint32_t window) : window_(window) {}
  // The acknowledgement; none: the segment asks for none.
  std::optional<SaHeader> take(Mad mad) {
    const auto number = mad_get_field(mad.data(), 0, IB_SA_RMPP_SEGNUM_F);
    const auto flags = mad_get_field(mad.data(), 0, IB_SA_RMPP_FLAGS_F);
    if (mad_get_field(mad.data(), 0, IB_SA_RMPP_TYPE_F) != 1) return std::nullopt;
    if (number == taken_ + 1) {
      ++taken_;
      bytes_.insert(bytes_.end(), mad.begin() + IB_SA_DATA_OFFS, mad.end());
      if ((flags & 4U) != 0) {
        bytes_.resize(bytes_.size() - (220 - mad_get_field(mad.data(), 0, IB_SA_RMPP_LEN_F)));
        is_whole_ = true;
      }
    }
    const bool is_repeated = number < taken_;
    if (taken_ < promised_ && !is_whole_ && !is_repeated) return std::nullopt;
    promised_ = taken_ + window_;
    SaHeader ack;
    ack.transaction = mad_get_field64(mad.data(), 0, IB_MAD_TRID_F);
    ack.rmpp = {.version = 1, .type = RmppType::ack, .flags = 1, .segment = taken_, .length = promised_};
    return ack;
  }
  [[nodiscard]] bool is_whole() const { return is_whole_; }
  [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  const std::uint32_t window_;
  std::uint32_t taken_ = 0, promised_ = 1;
  bool is_whole_ = false;
  std::vector<std::uint8_t> bytes_;
};

TEST(RmppSender, TablesArriveWholeOrAreGivenUp) {
  std::mt19937 random(3);
  std::size_t whole = 0, given_up = 0;
  for (int round = 0; round < 200; ++round) {
    const double loss = 0.05 * (round % 12);
    const auto lost = [&] { return std::uniform_real_distribution<>(0, 1)(random) < loss; };
    std::vector<std::pair<SaClient, Mad>> wire;
    RmppSender sender({.window = 8}, [&](const SaClient& client, const Mad& mad) { wire.emplace_back(client, mad); });
    SaAnswer table;
    table.header.transaction = random();
    table.records.resize(random() % 5000);
    for (auto& byte : table.records) byte = static_cast<std::uint8_t>(random());
    Receiver receiver(1 + random() % 8);
    RmppSender::TimePoint now{};
    const SaClient client{.lid = 7};
    ASSERT_TRUE(sender.start(client, table, now));
    while (sender.under_way() > 0) {
      auto arriving = std::exchange(wire, {});
      for (const auto& [to, mad] : arriving) {
        if (lost()) continue;
        const auto ack = receiver.take(mad);
        if (ack && !lost()) sender.take(to, *ack, now);
      }
      if (wire.empty()) sender.expire(now += std::chrono::milliseconds(1000));
    }
    EXPECT_EQ(sender.bytes(), 0U);
    if (receiver.is_whole()) {
      EXPECT_EQ(receiver.bytes(), table.records);
    }
    EXPECT_EQ(sender.counts().completed + sender.counts().given_up, 1U);
    if (sender.counts().completed != 0) {
      ASSERT_TRUE(receiver.is_whole());
    }
    ++(receiver.is_whole() ? whole : given_up);
    if (loss == 0) {
      EXPECT_EQ(sender.counts().repeated, 0U);
    }
  }
  EXPECT_GT(whole, 100U);
  EXPECT_GT(given_up, 0U);
}

TEST(RmppSender, IsBounded) {
  std::size_t sent = 0;
  RmppSender sender({.max_transfers = 3, .max_bytes = 1000}, [&](const SaClient&, const Mad&) { ++sent; });
  SaAnswer table;
  table.records.resize(400);
  for (std::uint64_t i = 0; i < 5; ++i) {
    table.header.transaction = i;
    EXPECT_EQ(sender.start({.lid = 1}, table, {}), i < 2);  // 800 bytes
  }
  EXPECT_EQ(sent, 2U);
  // Acknowledgements of what was not sent, and of no transfer, change nothing.
  SaHeader ack;
  ack.transaction = 1;
  ack.rmpp = {.version = 1, .type = RmppType::ack, .flags = 1, .segment = 2, .length = 100};
  sender.take({.lid = 1}, ack, {});
  ack.transaction = 77;
  sender.take({.lid = 1}, ack, {});
  EXPECT_EQ(sender.under_way(), 2U);
  ack.rmpp.type = RmppType::abort;
  ack.transaction = 0;
  sender.take({.lid = 1}, ack, {});
  EXPECT_EQ(sender.under_way(), 1U);
  EXPECT_EQ(sender.bytes(), 400U);
}

}  // namespace
}  // namespace railweave::fabric::infiniband::administration_test
