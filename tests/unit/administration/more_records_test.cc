// Paths between several ports and to groups, and records of tables: multicast forwarding, weights of lanes, GUIDs. Requests are written and
// answers read at the places that the specification gives (IBA 15.2.5), and compared with other questions and with what was put in.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mad.h>

#include "fabric/drivers/infiniband/administration/administrator.h"
#include "fabric/drivers/infiniband/administration/multi_path_records.h"
#include "fabric/drivers/infiniband/administration/rmpp_sender.h"
#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/administered_fabric.h"

namespace railweave::fabric::infiniband::more_records_test {
namespace {

constexpr std::uint64_t kTrust = 0x5a17;
constexpr unsigned kGet = 1, kGetTable = 0x12, kGetMulti = 0x14;
constexpr std::uint64_t kNumber = 1U << 6U, kKey = 1U << 7U, kCounts = 3U << 19U;

void put(std::uint8_t* data, std::size_t at, unsigned bytes, std::uint64_t value) {
  for (unsigned i = 0; i < bytes; ++i) data[at + i] = static_cast<std::uint8_t>(value >> 8 * (bytes - 1 - i));
}
std::uint64_t get(const std::uint8_t* data, std::size_t at, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value = value << 8U | data[at + i];
  return value;
}

class MoreRecords : public ::testing::Test {
 protected:
  MoreRecords() {
    auto topology = std::make_shared<const Topology>(
        generate("fat-tree",
                 {{"hosts", "12"}, {"radix", "8"}, {"tiers", "2"}, {"gpus-per-host", "1"}, {"nics-per-host", "1"}})
            .value());
    RoutingInput input;
    input.view = FabricView(topology);
    input.scope = RoutingScope::make(topology, {.switch_management = true}).value();
    tables_ = std::make_shared<std::vector<PortTables>>();
    unsigned host = 0;
    for (const HcaId hca : topology->hcas()) {
      PortTables& port = tables_->emplace_back();
      port.port = {topology->guid(hca), 1};
      port.pkeys = std::vector<std::uint16_t>{0x7fff, static_cast<std::uint16_t>(host++ < 6 ? 0x8001 : 0x8002)};
      if (host == 1) port.pkeys->push_back(0x8002);  // the first is in both
      if (host % 2 == 0) continue;
      VlArbitration& arbitration = port.arbitration.emplace();
      for (unsigned i = 0; i < 40; ++i)
        arbitration.low.push_back({static_cast<std::uint8_t>(i % 4), static_cast<std::uint8_t>(host + i)});
      arbitration.high = {{1, 200}, {0, 3}};
    }
    fabric_ = std::make_unique<testing::AdministeredFabric>(
        choose_engine(*input.scope).engine->route(input).value(), kTrust,
        [](PortId port) { return static_cast<std::uint8_t>(3 + port.value() * 7 % 3); }, tables_);
    for (const auto& end : subnet().end_ports()) {
      if (end.port) hosts_.push_back(end);
    }
  }
  [[nodiscard]] const AdministeredSubnet& subnet() const { return fabric_->subnet(); }
  SaAnswer ask(std::size_t from, unsigned method, unsigned attribute, Mad mad, std::uint64_t mask,
               std::uint64_t key = 0) {
    mad_set_field(mad.data(), 0, IB_MAD_BASEVER_F, 1);
    mad_set_field(mad.data(), 0, IB_MAD_MGMTCLASS_F, IB_SA_CLASS);
    mad_set_field(mad.data(), 0, IB_MAD_CLASSVER_F, 2);
    mad_set_field(mad.data(), 0, IB_MAD_METHOD_F, method);
    mad_set_field(mad.data(), 0, IB_MAD_ATTRID_F, attribute);
    mad_set_field64(mad.data(), 0, IB_SA_MKEY_F, key);
    mad_set_field64(mad.data(), 0, IB_SA_COMPMASK_F, mask);
    return administer(&subnet(), mad, hosts_.at(from).lid, &book_);
  }
  [[nodiscard]] Mad multi_path(unsigned number, const std::vector<std::size_t>& from,
                               const std::vector<std::size_t>& to) const {
    Mad mad{};
    std::uint8_t* const data = mad.data() + IB_SA_DATA_OFFS;
    data[5] = static_cast<std::uint8_t>(number);
    data[15] = static_cast<std::uint8_t>(from.size());
    data[16] = static_cast<std::uint8_t>(to.size());
    std::size_t at = 24;
    for (const auto* ends : {&from, &to}) {
      for (const std::size_t host : *ends) {
        put(data, at, 8, subnet().gid_prefix());
        put(data, at + 8, 8, hosts_.at(host).guid.value());
        at += 16;
      }
    }
    return mad;
  }
  using Record = std::vector<std::uint8_t>;
  static std::vector<Record> records(const SaAnswer& answer, std::size_t bytes) {
    std::vector<Record> found;
    for (std::size_t i = 0; i < answer.record_count; ++i) {
      const auto begin = answer.records.begin() + static_cast<std::ptrdiff_t>(i * bytes);
      found.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(bytes));
    }
    return found;
  }

  std::shared_ptr<std::vector<PortTables>> tables_;
  std::unique_ptr<testing::AdministeredFabric> fabric_;
  std::vector<AdministeredSubnet::EndPort> hosts_;
  Registrations book_;
};

TEST_F(MoreRecords, PathsBetweenSeveralPortsAreThoseBetweenTwo) {
  std::mt19937 random(11);
  std::size_t found = 0, apart = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::size_t> from, to;
    while (from.size() < 1 + random() % 5) from.push_back(random() % hosts_.size());
    while (to.size() < 1 + random() % 5) to.push_back(random() % hosts_.size());
    const std::size_t asker = random() % hosts_.size();
    const unsigned number = random() % 3 == 0 ? 3 : 100;
    std::vector<Record> expected;
    for (const std::size_t a : from) {
      for (const std::size_t b : to) {
        Mad one{};
        put(one.data() + IB_SA_DATA_OFFS, 40, 2, hosts_[b].lid);
        put(one.data() + IB_SA_DATA_OFFS, 42, 2, hosts_[a].lid);
        const SaAnswer single = ask(asker, kGetTable, IB_SA_ATTR_PATHRECORD, one, 3U << 4U);
        for (const Record& record : records(single, 64)) expected.push_back(record);
        apart += single.record_count == 0 ? 1 : 0;
      }
    }
    if (expected.size() > number) expected.resize(number);
    const SaAnswer answer = ask(asker, kGetMulti, 0x3a, multi_path(number, from, to), kNumber | kCounts);
    ASSERT_EQ(answer.kind, SaAnswer::Kind::table);
    EXPECT_EQ(answer.header.attribute, IB_SA_ATTR_PATHRECORD);
    EXPECT_EQ(answer.header.method, 0x94);
    EXPECT_EQ(answer.header.record_offset, 8);
    ASSERT_EQ(records(answer, 64), expected);
    found += expected.size();
  }
  EXPECT_GT(found, 200U);
  EXPECT_GT(apart, 300U);
}

TEST_F(MoreRecords, APathAndAnotherToFallBackOnShareNoEnd) {
  const auto ends_of = [&](const SaAnswer& answer) {
    std::set<std::pair<std::uint64_t, std::uint64_t>> ends;
    for (const Record& record : records(answer, 64)) ends.emplace(get(record.data(), 42, 2), get(record.data(), 40, 2));
    return ends;
  };
  const auto pair = [&](std::size_t a, std::size_t b) {
    return std::pair<std::uint64_t, std::uint64_t>(hosts_[a].lid, hosts_[b].lid);
  };
  EXPECT_EQ(ends_of(ask(1, kGetMulti, 0x3a, multi_path(2, {1, 2}, {3, 4}), kNumber | kCounts)),
            (std::set{pair(1, 3), pair(2, 4)}));
  // 1 and 8 are in partitions of their own: crosswise there are two.
  EXPECT_EQ(ends_of(ask(1, kGetMulti, 0x3a, multi_path(2, {1, 8}, {9, 2}), kNumber | kCounts, kTrust)),
            (std::set{pair(1, 2), pair(8, 9)}));
  EXPECT_EQ(ends_of(ask(1, kGetMulti, 0x3a, multi_path(2, {0, 8}, {9, 1}), kNumber | kCounts, kTrust)),
            (std::set{pair(0, 1), pair(8, 9)}));
}

TEST_F(MoreRecords, QuestionsForSeveralPathsAreRefusedWithTheirStatus) {
  const auto status = [&](const Mad& mad, std::uint64_t mask, unsigned method = kGetMulti) {
    return ask(1, method, 0x3a, mad, mask).status();
  };
  EXPECT_EQ(status(multi_path(9, {1}, {2}), kNumber), SaStatus::lacksComponents);
  EXPECT_EQ(status(multi_path(9, {}, {2}), kCounts), SaStatus::invalidRequest);
  EXPECT_EQ(status(multi_path(9, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5}), kCounts), SaStatus::ok);
  Mad many = multi_path(9, {1}, {2});
  many[IB_SA_DATA_OFFS + 15] = 255;
  EXPECT_EQ(status(many, kCounts), SaStatus::invalidRequest);
  Mad stranger = multi_path(9, {1}, {2});
  put(stranger.data() + IB_SA_DATA_OFFS, 24, 8, 7);
  EXPECT_EQ(status(stranger, kCounts), SaStatus::invalidGid);
  EXPECT_EQ(status(multi_path(9, {1}, {2}), kCounts, kGet), SaStatus::badAttribute);
  EXPECT_EQ(status(multi_path(9, {1}, {2}), kCounts, kGetTable), SaStatus::badAttribute);
  EXPECT_EQ(ask(1, kGetMulti, IB_SA_ATTR_PATHRECORD, {}, 0).status(), SaStatus::badAttribute);
  Mad other = multi_path(9, {1}, {2});
  put(other.data() + IB_SA_DATA_OFFS, 6, 2, 0x8002);
  EXPECT_EQ(ask(1, kGetMulti, 0x3a, other, kCounts | kKey).record_count, 0U);
  put(other.data() + IB_SA_DATA_OFFS, 6, 2, 0x8001);
  EXPECT_EQ(ask(1, kGetMulti, 0x3a, other, kCounts | kKey).record_count, 1U);

  SaHeader segment{.method = kGetMulti, .transaction = 9, .key = 77};
  segment.rmpp = {.version = 1, .type = RmppType::data, .flags = 7, .segment = 1, .length = 220};
  const SaHeader said = read_sa_header(acknowledgement(segment));
  EXPECT_EQ(said.method, 0x94);
  EXPECT_EQ(said.transaction, 9U);
  EXPECT_EQ(said.key, 0U);
  EXPECT_EQ(said.rmpp,
            (RmppHeader{.version = 1, .type = RmppType::ack, .flags = 1, .status = 0, .segment = 1, .length = 1}));
}

TEST_F(MoreRecords, APathToAGroupIsWhatItsPacketsAre) {
  book_.multicast.follow(subnet());
  MulticastRecord terms{.mgid = {0xff, 0x15, 0x40, 0x1b, 0x80, 0x01},
                        .mtu = 3,
                        .traffic_class = 9,
                        .key = 0x8001,
                        .rate = 3,
                        .life = 16,
                        .level = 2,
                        .flow_label = 0x12345,
                        .hop_limit = 4,
                        .scope = 5};
  terms.mgid[15] = 0x77;
  ASSERT_NE(book_.multicast.create(terms), nullptr);
  book_.multicast.join(terms.mgid, hosts_[2].guid, JoinState::kFull, false);
  Mad mad{};
  std::uint8_t* const data = mad.data() + IB_SA_DATA_OFFS;
  std::copy(terms.mgid.begin(), terms.mgid.end(), data + 8);
  const SaAnswer answer = ask(1, kGet, IB_SA_ATTR_PATHRECORD, mad, 4);
  ASSERT_EQ(answer.status(), SaStatus::ok);
  const std::uint8_t* const record = answer.records.data();
  EXPECT_TRUE(std::equal(terms.mgid.begin(), terms.mgid.end(), record + 8));
  EXPECT_EQ(get(record, 40, 2), book_.multicast.find(terms.mgid)->terms.lid);
  EXPECT_EQ(get(record, 44, 4), 0x12345ffU);  // beyond the link as far as it goes
  EXPECT_EQ(get(record, 48, 2), 0x0901U);
  EXPECT_EQ(get(record, 50, 2), 0x8001U);
  EXPECT_EQ(get(record, 52, 2), 2U);
  EXPECT_EQ(get(record, 54, 3), 0x838390U);

  const auto status = [&](std::uint64_t mask, std::size_t from = 1) {
    return ask(from, kGet, IB_SA_ATTR_PATHRECORD, mad, mask).status();
  };
  EXPECT_EQ(status(4, 8), SaStatus::noRecords);  // of another partition
  put(data, 24, 8, subnet().gid_prefix());
  put(data, 32, 8, hosts_[2].guid.value());
  EXPECT_EQ(status(4 | 8), SaStatus::ok);
  put(data, 32, 8, hosts_[3].guid.value());
  EXPECT_EQ(status(4 | 8), SaStatus::noRecords);  // not in the group
  put(data, 42, 2, hosts_[2].lid);
  EXPECT_EQ(status(4 | 32), SaStatus::ok);
  put(data, 40, 2, get(record, 40, 2));
  EXPECT_EQ(status(16), SaStatus::ok);
  put(data, 40, 2, 0xc000);
  EXPECT_EQ(status(4 | 16), SaStatus::noRecords);
  data[54] = 0x84;
  EXPECT_EQ(status(4 | 3U << 16U), SaStatus::ok);  // just 2048 bytes: it has what it has
  put(data, 50, 2, 0x8002);
  EXPECT_EQ(status(4 | 1U << 13U), SaStatus::noRecords);
  data[9] ^= 1;
  EXPECT_EQ(status(4), SaStatus::noRecords);  // no such group
}

TEST_F(MoreRecords, TablesAreToldAsTheyAre) {
  std::mt19937 random(2);
  auto held = std::make_shared<MulticastTables>();
  std::map<std::tuple<std::uint64_t, unsigned, unsigned>, std::vector<std::uint64_t>> expected;
  for (const auto& end : subnet().end_ports()) {
    if (end.port || random() % 3 == 0) continue;
    for (const unsigned block : {0U, 3U}) {
      MulticastTableBlock& one = (*held)[end.guid].emplace_back();
      one.block = static_cast<std::uint16_t>(block);
      one.position = static_cast<std::uint8_t>(random() % 16);
      auto& masks = expected[{end.lid, block, one.position}];
      for (auto& mask : one.entries) masks.push_back(mask = static_cast<std::uint16_t>(random()));
    }
  }
  EXPECT_EQ(ask(1, kGetTable, 0x17, {}, 0).record_count, 0U);
  book_.multicast_tables = held;
  decltype(expected) told;
  for (const Record& record : records(ask(1, kGetTable, 0x17, {}, 0), 72)) {
    const std::uint64_t place = get(record.data(), 2, 2);
    auto& masks = told[{get(record.data(), 0, 2), place & 511U, place >> 12U}];
    for (unsigned i = 0; i < 32; ++i) masks.push_back(get(record.data(), 8 + 2 * i, 2));
  }
  EXPECT_EQ(told, expected);
  const auto [lid, block, position] = std::prev(expected.end())->first;
  Mad mad{};
  put(mad.data() + IB_SA_DATA_OFFS, 0, 2, lid);
  put(mad.data() + IB_SA_DATA_OFFS, 2, 2, position << 12U | block);
  EXPECT_EQ(ask(1, kGet, 0x17, mad, 1 | 2 | 8).record_count, 1U);
  EXPECT_EQ(ask(1, kGetTable, 0x17, mad, 1).record_count, 2U);
  EXPECT_EQ(ask(1, kGetTable, 0x17, mad, 8).record_count, held->size());

  std::map<std::pair<std::uint64_t, unsigned>, std::vector<std::uint64_t>> weights, wanted;
  for (const Record& record : records(ask(1, kGetTable, 0x36, {}, 0, kTrust), 72)) {
    auto& entries = weights[{get(record.data(), 0, 2), record[3]}];
    EXPECT_EQ(record[2], 1);
    for (unsigned i = 0; i < 32; ++i) entries.push_back(get(record.data(), 8 + 2 * i, 2));
  }
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const auto& tables = *std::ranges::find(*tables_, subnet().nodes()[hosts_[host].node].info.node_guid,
                                            [](const PortTables& one) { return one.port.device; });
    if (!tables.arbitration) continue;
    for (unsigned part = 1; part <= 4; ++part) {
      auto& entries = wanted[{hosts_[host].lid, part}];
      for (unsigned i = 0; i < 32; ++i) {
        const auto& table = part < 3 ? tables.arbitration->low : tables.arbitration->high;
        const std::size_t at = i + (part % 2 == 0 ? 32 : 0);
        entries.push_back(at < table.size() ? table[at].vl * 256U + table[at].weight : 0U);
      }
    }
  }
  EXPECT_EQ(weights, wanted);
  EXPECT_EQ(weights.size(), 24U);
  put(mad.data() + IB_SA_DATA_OFFS, 0, 2, weights.begin()->first.first);
  mad[IB_SA_DATA_OFFS + 3] = 3;
  EXPECT_EQ(ask(1, kGetTable, 0x36, mad, 1 | 4, kTrust).record_count, 1U);

  std::map<std::uint64_t, std::uint64_t> guids, ports;
  for (const Record& record : records(ask(1, kGetTable, 0x30, {}, 0, kTrust), 72))
    guids[get(record.data(), 0, 2)] = get(record.data(), 8, 8);
  for (const auto& end : subnet().end_ports()) ports[end.lid] = end.guid.value();
  EXPECT_EQ(guids, ports);
  put(mad.data() + IB_SA_DATA_OFFS, 8, 8, hosts_[5].guid.value());
  EXPECT_EQ(ask(1, kGet, 0x30, mad, 1U << 4U, kTrust).record_count, 1U);
  put(mad.data() + IB_SA_DATA_OFFS, 8, 8, 5);
  EXPECT_EQ(ask(1, kGet, 0x30, mad, 1U << 4U, kTrust).status(), SaStatus::noRecords);
}

}  // namespace
}  // namespace railweave::fabric::infiniband::more_records_test
