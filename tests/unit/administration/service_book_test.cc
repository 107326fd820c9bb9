// Services that clients register, find and end. Places and mask bits of components are written out as the specification has them
// (IBA 15.2.5.14), time is given.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <infiniband/mad.h>

#include "fabric/drivers/infiniband/administration/administrator.h"
#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/administered_fabric.h"

namespace railweave::fabric::infiniband::service_book_test {
namespace {

constexpr std::uint64_t kTrust = 0x5a17;
constexpr unsigned kSet = 2, kGet = 1, kGetTable = 0x12, kDelete = 0x15;
constexpr std::uint64_t kId = 1, kGid = 2, kPartition = 4, kLease = 16, kServiceKey = 32, kName = 64,
                        kWord = std::uint64_t{1} << 32U;

class Services : public ::testing::Test {
 protected:
  Services() {
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
    for (const auto& end : fabric_->subnet().end_ports()) {
      if (end.port) lids_.push_back(end.lid);
    }
  }
  static Mad service(std::uint64_t id, std::uint16_t key, std::uint32_t lease, const std::string& name,
                     std::uint32_t word = 0) {
    Mad mad{};
    std::uint8_t* const data = mad.data() + IB_SA_DATA_OFFS;
    const auto put = [&](std::size_t at, std::uint64_t value, unsigned bytes) {
      for (unsigned i = 0; i < bytes; ++i) data[at + i] = static_cast<std::uint8_t>(value >> 8 * (bytes - 1 - i));
    };
    put(0, id, 8);
    put(24, key, 2);
    put(28, lease, 4);
    data[32] = 0x77;  // its key
    std::copy(name.begin(), name.end(), data + 48);
    put(112 + 16 + 16 + 4, word, 4);
    return mad;
  }
  SaAnswer ask(std::size_t from, unsigned method, Mad mad, std::uint64_t mask, std::uint64_t key = 0) {
    mad_set_field(mad.data(), 0, IB_MAD_BASEVER_F, 1);
    mad_set_field(mad.data(), 0, IB_MAD_MGMTCLASS_F, IB_SA_CLASS);
    mad_set_field(mad.data(), 0, IB_MAD_CLASSVER_F, 2);
    mad_set_field(mad.data(), 0, IB_MAD_METHOD_F, method);
    mad_set_field(mad.data(), 0, IB_MAD_ATTRID_F, 0x31);
    mad_set_field64(mad.data(), 0, IB_SA_MKEY_F, key);
    mad_set_field64(mad.data(), 0, IB_SA_COMPMASK_F, mask);
    return administer(&fabric_->subnet(), mad, lids_.at(from), &book_);
  }
  SaStatus set(std::size_t from, const Mad& mad) {
    return ask(from, kSet, mad, kId | kGid | kPartition | kLease | kServiceKey | kName).status();
  }

  std::unique_ptr<testing::AdministeredFabric> fabric_;
  std::vector<Lid> lids_;
  Registrations book_;
};

TEST_F(Services, AreFoundByWhatTheyAreUntilTheyEnd) {
  constexpr std::uint32_t kForever = 0xffffffff;
  ASSERT_EQ(set(1, service(10, 0x8001, kForever, "files", 7)), SaStatus::ok);
  ASSERT_EQ(set(2, service(11, 0x8001, 5, "files", 8)), SaStatus::ok);
  ASSERT_EQ(set(3, service(12, 0, kForever, "clock", 8)), SaStatus::ok);
  EXPECT_EQ(ask(4, kGetTable, {}, 0).record_count, 3U);
  EXPECT_EQ(ask(4, kGetTable, service(0, 0, 0, "files"), kName).record_count, 2U);
  EXPECT_EQ(ask(4, kGetTable, service(0, 0, 0, "files", 8), kName | kWord).record_count, 1U);
  EXPECT_EQ(ask(4, kGet, service(0, 0, 0, "files"), kName).status(), SaStatus::tooManyRecords);
  EXPECT_EQ(ask(4, kGet, service(13, 0, 0, ""), kId).status(), SaStatus::noRecords);
  // Of another partition: only what has none.
  EXPECT_EQ(ask(8, kGetTable, {}, 0).record_count, 1U);
  EXPECT_EQ(ask(8, kGetTable, {}, 0, kTrust).record_count, 3U);
  book_.now += std::chrono::seconds(3);
  SaAnswer one = ask(4, kGet, service(11, 0, 0, ""), kId);
  ASSERT_EQ(one.status(), SaStatus::ok);
  EXPECT_EQ(one.records[28 + 3], 2);  // seconds left
  EXPECT_EQ(one.records[32], 0);      // its key, for the trusted
  one = ask(4, kGet, service(11, 0, 0, ""), kId, kTrust);
  EXPECT_EQ(one.records[32], 0x77);
  book_.now += std::chrono::seconds(2);
  EXPECT_EQ(ask(4, kGet, service(11, 0, 0, ""), kId).status(), SaStatus::noRecords);
  EXPECT_EQ(ask(1, kDelete, service(0, 0, 0, "files"), kName).status(), SaStatus::ok);
  EXPECT_EQ(ask(4, kGetTable, {}, 0).record_count, 1U);
}

TEST_F(Services, AreTheirOwnersAlone) {
  constexpr std::uint32_t kForever = 0xffffffff;
  ASSERT_EQ(set(1, service(10, 0x8001, kForever, "files")), SaStatus::ok);
  EXPECT_EQ(set(2, service(10, 0x8001, kForever, "stolen")), SaStatus::invalidRequest);
  EXPECT_EQ(set(1, service(10, 0x8002, kForever, "elsewhere")), SaStatus::invalidRequest);
  EXPECT_EQ(set(1, service(11, 0x8001, 0, "none")), SaStatus::invalidRequest);
  EXPECT_EQ(ask(1, kSet, service(11, 0x8001, 1, ""), kLease).status(), SaStatus::lacksComponents);
  EXPECT_EQ(ask(2, kDelete, service(10, 0, 0, ""), kId).status(), SaStatus::noRecords);
  EXPECT_EQ(set(1, service(10, 0x8001, kForever, "renamed")), SaStatus::ok);
  EXPECT_EQ(ask(2, kGetTable, service(0, 0, 0, "renamed"), kName).record_count, 1U);
  EXPECT_EQ(ask(2, kDelete, service(10, 0, 0, ""), kId, kTrust).status(), SaStatus::ok);
  EXPECT_EQ(book_.services.count(), 0U);
}

TEST_F(Services, AreBounded) {
  for (std::uint64_t id = 0; id < ServiceBounds{}.services_of_port; ++id) {
    ASSERT_EQ(set(1, service(id, 0, 9, "one")), SaStatus::ok);
  }
  EXPECT_EQ(set(1, service(1'000, 0, 9, "one")), SaStatus::noResources);
  EXPECT_EQ(set(1, service(5, 0, 9, "again")), SaStatus::ok);
  EXPECT_EQ(set(2, service(1'000, 0, 9, "one")), SaStatus::ok);
  EXPECT_EQ(ask(1, kDelete, service(0, 0, 0, "one"), kName).status(), SaStatus::tooManyRecords);
  book_.now += std::chrono::seconds(9);
  EXPECT_EQ(set(1, service(1'000, 0, 9, "one")), SaStatus::ok);
  EXPECT_EQ(book_.services.count(), 1U);
}

}  // namespace
}  // namespace railweave::fabric::infiniband::service_book_test
