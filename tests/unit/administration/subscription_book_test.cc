// Subscriptions to notices, and reports of them. Places of components are written out as the specification has them (IBA 13.4.8.2,
// 13.4.8.3), those of notices are libibmad's; who is told is compared with a plain reading of both; time is given.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mad.h>

#include "fabric/drivers/infiniband/administration/administrator.h"
#include "fabric/drivers/infiniband/administration/report_sender.h"
#include "fabric/drivers/infiniband/administration/subnet_notice.h"
#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/administered_fabric.h"

namespace railweave::fabric::infiniband::subscription_book_test {
namespace {

using std::chrono::milliseconds;
constexpr std::uint64_t kTrust = 0x5a17;
constexpr unsigned kSet = 2, kGet = 1, kGetTable = 0x12;
constexpr std::uint16_t kInformInfo = 3, kInformInfoRecord = 0xf3;

struct Wanted {
  std::uint64_t prefix = 0, guid = 0;
  unsigned first = 0xffff, last = 0;
  unsigned generic = 1, subscribe = 1, type = 0xffff, trap = 0xffff, queue_pair = 0;
  std::uint32_t producer = 0xffffff;
};

void put(std::uint8_t* data, std::size_t at, unsigned bytes, std::uint64_t value) {
  for (unsigned i = 0; i < bytes; ++i) data[at + i] = static_cast<std::uint8_t>(value >> 8 * (bytes - 1 - i));
}
std::uint64_t get(const std::uint8_t* data, std::size_t at, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value = value << 8U | data[at + i];
  return value;
}

Mad inform(const Wanted& w) {
  Mad mad{};
  std::uint8_t* const data = mad.data() + IB_SA_DATA_OFFS;
  put(data, 0, 8, w.prefix);
  put(data, 8, 8, w.guid);
  put(data, 16, 2, w.first);
  put(data, 18, 2, w.last);
  put(data, 22, 1, w.generic);
  put(data, 23, 1, w.subscribe);
  put(data, 24, 2, w.type);
  put(data, 26, 2, w.trap);
  put(data, 28, 3, w.queue_pair);
  put(data, 33, 3, w.producer);
  return mad;
}

class Subscriptions : public ::testing::Test {
 protected:
  Subscriptions() {
    auto topology = std::make_shared<const Topology>(
        generate("fat-tree",
                 {{"hosts", "12"}, {"radix", "8"}, {"tiers", "2"}, {"gpus-per-host", "1"}, {"nics-per-host", "1"}})
            .value());
    RoutingInput input;
    input.view = FabricView(topology);
    input.scope = RoutingScope::make(topology, {.switch_management = true}).value();
    auto tables = std::make_shared<std::vector<PortTables>>();
    unsigned host = 0;
    for (const HcaId hca : topology->hcas()) {
      PortTables& port = tables->emplace_back();
      port.port = {topology->guid(hca), 1};
      port.pkeys = std::vector<std::uint16_t>{0x7fff, static_cast<std::uint16_t>(host++ < 6 ? 0x8001 : 0x8002)};
    }
    fabric_ = std::make_unique<testing::AdministeredFabric>(
        choose_engine(*input.scope).engine->route(input).value(), kTrust, [](PortId) { return std::uint8_t{4}; },
        tables);
    tables_ = tables;
    for (const auto& end : subnet().end_ports()) {
      if (end.port) hosts_.push_back(end);
    }
  }
  [[nodiscard]] const AdministeredSubnet& subnet() const { return fabric_->subnet(); }
  [[nodiscard]] Guid guid(std::size_t host) const { return hosts_.at(host).guid; }
  // The same subnet without the cables of these hosts.
  [[nodiscard]] std::unique_ptr<AdministeredSubnet> without(const std::set<std::size_t>& lost) const {
    auto nodes = subnet().nodes();
    for (const std::size_t host : lost) {
      nodes[hosts_[host].node].ports[1].peer = AdministeredSubnet::kNone;
      nodes[hosts_[host].node].ports[1].info.state = PortState::down;
    }
    return std::make_unique<AdministeredSubnet>(std::move(nodes), subnet().manager(), subnet().routing(),
                                                std::vector<PartitionService>{}, tables_);
  }
  SaAnswer ask(std::size_t from, unsigned method, Mad mad, std::uint16_t attribute, std::uint64_t mask = 0,
               std::uint64_t key = 0, std::uint32_t queue_pair = 1) {
    mad_set_field(mad.data(), 0, IB_MAD_BASEVER_F, 1);
    mad_set_field(mad.data(), 0, IB_MAD_MGMTCLASS_F, IB_SA_CLASS);
    mad_set_field(mad.data(), 0, IB_MAD_CLASSVER_F, 2);
    mad_set_field(mad.data(), 0, IB_MAD_METHOD_F, method);
    mad_set_field(mad.data(), 0, IB_MAD_ATTRID_F, attribute);
    mad_set_field64(mad.data(), 0, IB_SA_MKEY_F, key);
    mad_set_field64(mad.data(), 0, IB_SA_COMPMASK_F, mask);
    return administer(&subnet(), mad, SaClient{.lid = hosts_.at(from).lid, .queue_pair = queue_pair}, &book_);
  }
  SaStatus subscribe(std::size_t from, const Wanted& w, std::uint64_t key = 0, std::uint32_t queue_pair = 1) {
    return ask(from, kSet, inform(w), kInformInfo, 0, key, queue_pair).status();
  }
  [[nodiscard]] std::set<Lid> told(const SubnetNotice& notice) const {
    std::set<Lid> lids;
    for (const SaClient& client : book_.subscriptions.subscribers(subnet(), notice)) lids.insert(client.lid);
    return lids;
  }

  std::unique_ptr<testing::AdministeredFabric> fabric_;
  std::shared_ptr<const std::vector<PortTables>> tables_;
  std::vector<AdministeredSubnet::EndPort> hosts_;
  Registrations book_;
};

TEST_F(Subscriptions, AreConfirmedReadAndEnded) {
  const Mad asked = inform({.trap = 64, .producer = 4});
  const SaAnswer answer = ask(1, kSet, asked, kInformInfo);
  ASSERT_EQ(answer.status(), SaStatus::ok);
  EXPECT_EQ(answer.header.method, 0x81);
  EXPECT_TRUE(std::equal(answer.records.begin(), answer.records.begin() + 36, asked.begin() + IB_SA_DATA_OFFS));
  ASSERT_EQ(subscribe(1, {.trap = 64, .producer = 4}), SaStatus::ok);  // again: the same one
  ASSERT_EQ(subscribe(1, {.trap = 65}), SaStatus::ok);
  ASSERT_EQ(subscribe(8, {}), SaStatus::ok);

  const SaAnswer seen = ask(2, kGetTable, {}, kInformInfoRecord);
  ASSERT_EQ(seen.record_count, 2U);  // of its partition
  EXPECT_EQ(get(seen.records.data(), 8, 8), guid(1).value());
  EXPECT_EQ(get(seen.records.data(), 24 + 26, 2), 64U);
  EXPECT_EQ(get(seen.records.data(), 24 + 28, 3), 1U);  // the queue pair that it came from
  EXPECT_EQ(get(seen.records.data(), 24 + 33, 3), 4U);
  EXPECT_EQ(ask(2, kGetTable, {}, kInformInfoRecord, 0, kTrust).record_count, 3U);
  Mad of_8{};
  put(of_8.data() + IB_SA_DATA_OFFS, 0, 8, subnet().gid_prefix());
  put(of_8.data() + IB_SA_DATA_OFFS, 8, 8, guid(8).value());
  EXPECT_EQ(ask(9, kGet, of_8, kInformInfoRecord, 1).record_count, 1U);
  EXPECT_EQ(ask(2, kGet, of_8, kInformInfoRecord, 1).status(), SaStatus::noRecords);

  EXPECT_EQ(subscribe(1, {.subscribe = 0, .trap = 65}), SaStatus::invalidRequest);  // names no queue pair
  EXPECT_EQ(subscribe(2, {.subscribe = 0, .trap = 65, .queue_pair = 1}), SaStatus::invalidRequest);  // another's
  EXPECT_EQ(subscribe(1, {.subscribe = 0, .trap = 65, .queue_pair = 1}), SaStatus::ok);
  EXPECT_EQ(subscribe(1, {.subscribe = 0, .trap = 65, .queue_pair = 1}), SaStatus::invalidRequest);
  EXPECT_EQ(book_.subscriptions.count(), 2U);
}

TEST_F(Subscriptions, AreRefusedWhereTheyMayNotBe) {
  EXPECT_EQ(subscribe(1, {.subscribe = 2}), SaStatus::invalidRequest);
  EXPECT_EQ(ask(1, kGet, inform({}), kInformInfo).status(), SaStatus::badAttribute);
  EXPECT_EQ(ask(1, 0x15, inform({}), kInformInfo).status(), SaStatus::badMethod);
  EXPECT_EQ(ask(1, kSet, inform({}), kInformInfoRecord).status(), SaStatus::badMethod);
  EXPECT_EQ(subscribe(1, {.prefix = subnet().gid_prefix(), .guid = guid(2).value()}), SaStatus::ok);
  EXPECT_EQ(subscribe(1, {.prefix = subnet().gid_prefix(), .guid = guid(8).value()}), SaStatus::invalidRequest);
  EXPECT_EQ(subscribe(1, {.prefix = 7, .guid = guid(2).value()}), SaStatus::invalidRequest);
  EXPECT_EQ(subscribe(1, {.first = hosts_[2].lid}), SaStatus::ok);
  EXPECT_EQ(subscribe(1, {.first = hosts_[8].lid}), SaStatus::invalidRequest);
  EXPECT_EQ(subscribe(1, {.first = hosts_[8].lid}, kTrust), SaStatus::ok);
  EXPECT_EQ(subscribe(1, {.first = 40'000}), SaStatus::invalidRequest);
  EXPECT_EQ(subscribe(1, {.first = 3, .last = 2}), SaStatus::invalidRequest);

  book_.subscriptions.clear();
  for (unsigned trap = 0; trap < 64; ++trap) ASSERT_EQ(subscribe(1, {.trap = trap}), SaStatus::ok);
  EXPECT_EQ(subscribe(1, {.trap = 64}), SaStatus::noResources);
  EXPECT_EQ(subscribe(2, {.trap = 64}), SaStatus::ok);
}

// Who is told, read off the request and the notice by the rules of IBA 13.4.8.3.
bool wants(const Wanted& w, const std::uint8_t* notice, std::uint64_t prefix) {
  auto* bytes = const_cast<std::uint8_t*>(notice);
  if (w.guid != 0) {
    if (get(notice, 64, 8) != prefix || get(notice, 72, 8) != w.guid) return false;
  } else if (w.first != 0xffff) {
    const unsigned lid = mad_get_field(bytes, 0, IB_NOTICE_ISSUER_LID_F);
    const unsigned last = w.last == 0 ? w.first : w.last;
    if (lid < w.first || lid > last) return false;
  }
  const auto fits = [](unsigned wanted, unsigned any, unsigned is) { return wanted == any || wanted == is; };
  return w.generic == mad_get_field(bytes, 0, IB_NOTICE_IS_GENERIC_F) &&
         fits(w.type, 0xffff, mad_get_field(bytes, 0, IB_NOTICE_TYPE_F)) &&
         fits(w.trap, 0xffff, mad_get_field(bytes, 0, IB_NOTICE_TRAP_NUMBER_F)) &&
         fits(w.producer, 0xffffff, mad_get_field(bytes, 0, IB_NOTICE_PRODUCER_F));
}

TEST_F(Subscriptions, ThoseWhoAskedAndMaySeeItAreTold) {
  std::mt19937 random(3);
  const auto one_of = [&](auto... values) {
    const std::vector<unsigned> all{static_cast<unsigned>(values)...};
    return all[random() % all.size()];
  };
  std::size_t reports = 0, withheld = 0;
  for (int round = 0; round < 40; ++round) {
    book_.subscriptions.clear();
    std::map<std::size_t, std::vector<std::pair<Wanted, bool>>> requests;
    for (int i = 0; i < 24; ++i) {
      const std::size_t from = random() % hosts_.size();
      Wanted w{.first = one_of(0xffff, 0xffff, hosts_[random() % 12].lid),
               .last = one_of(0, 60),
               .generic = one_of(1, 1, 1, 0),
               .type = one_of(0xffff, 1, 3, 4),
               .trap = one_of(0xffff, 64, 65, 66, 128, 144),
               .producer = one_of(0xffffff, 1, 2, 4)};
      if (random() % 4 == 0) {
        w.prefix = subnet().gid_prefix();
        w.guid = subnet().end_ports()[random() % subnet().end_ports().size()].guid.value();
      }
      const bool trusted = random() % 6 == 0;
      if (subscribe(from, w, trusted ? kTrust : 0) == SaStatus::ok) requests[from].emplace_back(w, trusted);
    }
    for (int n = 0; n < 30; ++n) {
      std::array<std::uint8_t, 64> trap{};
      mad_set_field(trap.data(), 0, IB_NOTICE_IS_GENERIC_F, one_of(1, 1, 1, 0));
      mad_set_field(trap.data(), 0, IB_NOTICE_TYPE_F, one_of(1, 3, 4));
      mad_set_field(trap.data(), 0, IB_NOTICE_PRODUCER_F, one_of(1, 2, 4));
      mad_set_field(trap.data(), 0, IB_NOTICE_TRAP_NUMBER_F, one_of(64, 65, 128, 144));
      const auto& source = subnet().end_ports()[random() % subnet().end_ports().size()];
      mad_set_field(trap.data(), 0, IB_NOTICE_ISSUER_LID_F, source.lid);
      const auto notice = forwarded(subnet(), trap, source.lid);
      ASSERT_TRUE(notice);
      ASSERT_EQ(get(notice->bytes.data(), 72, 8), source.guid.value());
      // Switches have the default key; hosts 0-5 and 6-11 are apart, and limited members of the default partition.
      const auto group = [&](const AdministeredSubnet::EndPort& end) {
        const auto at = std::ranges::find(hosts_, end.guid, &AdministeredSubnet::EndPort::guid);
        return at == hosts_.end() ? 2 : (at - hosts_.begin()) / 6;
      };
      std::set<Lid> expected;
      for (const auto& [from, own] : requests) {
        for (const auto& [w, trusted] : own) {
          if (!wants(w, notice->bytes.data(), subnet().gid_prefix())) continue;
          const bool shares = group(source) == 2 || group(source) == group(hosts_[from]);
          if (shares || trusted) expected.insert(hosts_[from].lid);
          withheld += shares || trusted ? 0 : 1;
        }
      }
      ASSERT_EQ(told(*notice), expected);
      reports += expected.size();
    }
  }
  EXPECT_GT(reports, 500U);
  EXPECT_GT(withheld, 100U);
}

TEST_F(Subscriptions, ChangesOfPortsAndGroupsAreNoticed) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    std::set<std::size_t> first, second;
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      if (random() % 3 == 0) first.insert(host);
      if (random() % 3 == 0) second.insert(host);
    }
    const auto before = without(first), now = without(second);
    std::set<std::pair<unsigned, std::uint64_t>> seen, expected;
    for (SubnetNotice notice : port_changes(*before, *now)) {
      std::uint8_t* const bytes = notice.bytes.data();
      EXPECT_EQ(mad_get_field(bytes, 0, IB_NOTICE_IS_GENERIC_F), 1U);
      EXPECT_EQ(mad_get_field(bytes, 0, IB_NOTICE_PRODUCER_F), 4U);
      EXPECT_EQ(mad_get_field(bytes, 0, IB_NOTICE_ISSUER_LID_F), subnet().manager().lid);
      EXPECT_EQ(get(bytes, 16, 8), subnet().gid_prefix());
      EXPECT_TRUE(seen.emplace(mad_get_field(bytes, 0, IB_NOTICE_TRAP_NUMBER_F), get(bytes, 24, 8)).second);
    }
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      if (first.contains(host) && !second.contains(host)) expected.emplace(64, guid(host).value());
      if (!first.contains(host) && second.contains(host)) expected.emplace(65, guid(host).value());
    }
    EXPECT_EQ(seen, expected);
  }
  ASSERT_EQ(subscribe(1, {}), SaStatus::ok);
  ASSERT_EQ(subscribe(7, {}), SaStatus::ok);
  const auto now = without({2, 9});
  for (const SubnetNotice& notice : port_changes(subnet(), *now)) {
    EXPECT_EQ(told(notice),
              std::set<Lid>{get(notice.bytes.data(), 24, 8) == guid(2).value() ? hosts_[1].lid : hosts_[7].lid});
  }
  const Mgid mgid = broadcast_mgid(0x8002);
  for (const bool is_created : {true, false}) {
    const SubnetNotice notice = group_change(subnet(), mgid, 0x8002, is_created);
    EXPECT_EQ(get(notice.bytes.data(), 4, 2), is_created ? 66U : 67U);
    EXPECT_TRUE(std::equal(mgid.begin(), mgid.end(), notice.bytes.begin() + 16));
    EXPECT_EQ(told(notice), std::set<Lid>{hosts_[7].lid});
  }

  book_.subscriptions.follow(*without({7}));
  EXPECT_EQ(book_.subscriptions.count(), 1U);  // who has left is told nothing more
}

TEST_F(Subscriptions, GroupsAreCreatedByTheFirstWhoKeepsThemAndDeletedByTheLast) {
  MulticastBook groups;
  groups.follow(subnet());
  EXPECT_TRUE(groups.take_changes().empty());  // a broadcast group without members
  const Mgid broadcast = broadcast_mgid(0xffff);
  const auto changes = [&] {
    std::vector<bool> found;
    for (const auto& change : groups.take_changes()) {
      EXPECT_EQ(change.mgid, broadcast);
      EXPECT_EQ(change.key, 0xffff);
      found.push_back(change.is_created);
    }
    return found;
  };
  groups.join(broadcast, guid(1), JoinState::kNonMember, false);
  EXPECT_EQ(changes(), std::vector<bool>{});
  groups.join(broadcast, guid(1), JoinState::kFull, false);
  groups.join(broadcast, guid(2), JoinState::kFull, false);
  EXPECT_EQ(changes(), std::vector<bool>{true});
  groups.leave(broadcast, guid(2), JoinState::kFull);
  EXPECT_EQ(changes(), std::vector<bool>{});
  groups.follow(*without({1}));
  EXPECT_EQ(changes(), std::vector<bool>{false});
}

TEST(Reports, AreRepeatedUntilTheyAreAnsweredSomeTimesAndNoMore) {
  std::vector<std::pair<SaClient, Mad>> wire;
  ReportSender sender({.max_reports = 6, .max_of_client = 2, .timeout = milliseconds(100), .attempts = 3},
                      [&](const SaClient& client, const Mad& mad) { wire.emplace_back(client, mad); });
  const ReportSender::TimePoint start{};
  const SaClient a{.lid = 4, .queue_pair = 1}, b{.lid = 5, .queue_pair = 0x23};
  SubnetNotice notice;
  std::ranges::fill(notice.bytes, std::uint8_t{0x42});
  for (int i = 0; i < 3; ++i) sender.report(a, notice, start);
  sender.report(b, notice, start);
  ASSERT_EQ(wire.size(), 3U);  // a has two under way already
  EXPECT_EQ(sender.counts().given_up, 1U);
  for (auto& [client, mad] : wire) {
    EXPECT_EQ(mad_get_field(mad.data(), 0, IB_MAD_METHOD_F), 6U);
    EXPECT_EQ(mad_get_field(mad.data(), 0, IB_MAD_MGMTCLASS_F), unsigned{IB_SA_CLASS});
    EXPECT_EQ(mad_get_field(mad.data(), 0, IB_MAD_ATTRID_F), 2U);
    EXPECT_TRUE(std::equal(notice.bytes.begin(), notice.bytes.end(), mad.begin() + IB_SA_DATA_OFFS));
  }
  const auto transaction = [&](std::size_t i) { return mad_get_field64(wire[i].second.data(), 0, IB_MAD_TRID_F); };
  EXPECT_NE(transaction(0), transaction(1));
  EXPECT_EQ(wire[2].first, b);
  sender.take(b, transaction(0));  // another's
  sender.take(a, transaction(0));
  EXPECT_EQ(sender.counts().answered, 1U);
  sender.take(a, transaction(0));
  EXPECT_EQ(sender.counts().answered, 1U);
  sender.expire(start + milliseconds(99));
  EXPECT_EQ(wire.size(), 3U);
  EXPECT_EQ(sender.next_due(), start + milliseconds(100));
  sender.expire(start + milliseconds(100));
  ASSERT_EQ(wire.size(), 5U);
  EXPECT_EQ(transaction(3), transaction(1));
  EXPECT_EQ(wire[3].second, wire[1].second);
  sender.expire(start + milliseconds(200));
  EXPECT_EQ(wire.size(), 7U);
  sender.expire(start + milliseconds(300));
  EXPECT_EQ(wire.size(), 7U);
  EXPECT_EQ(sender.counts().given_up, 3U);
  EXPECT_EQ(sender.under_way(), 0U);
  EXPECT_FALSE(sender.next_due());

  for (std::uint16_t lid = 10; lid < 20; ++lid) sender.report({.lid = lid}, notice, start);
  EXPECT_EQ(sender.under_way(), 6U);
  sender.keep_only([](const SaClient& client) { return client.lid == 12; });
  EXPECT_EQ(sender.under_way(), 1U);
  wire.clear();
  sender.expire(start + milliseconds(100));
  ASSERT_EQ(wire.size(), 1U);
  EXPECT_EQ(wire[0].first.lid, 12);
}

}  // namespace
}  // namespace railweave::fabric::infiniband::subscription_book_test
