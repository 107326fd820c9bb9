// Tables of ports in policies: what the lines say of a packet is what the tables of the plan say of it, however switches filter.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/base/fnv1a.h"
#include "fabric/drivers/opensm/protocol/policy_reader.h"

namespace railweave::fabric::opensm {
namespace {

using ::testing::HasSubstr;

// Switches of up to 6 ports whose output ports mostly share a filter, as a plan's do, and adapters.
std::vector<PortTables> random_tables(std::mt19937_64& random) {
  std::vector<PortTables> ports;
  const auto filter = [&](std::size_t count) {
    std::vector<std::uint16_t> levels{IngressFilter::kAll};
    for (std::size_t in = 1; in < count; ++in) {
      levels.push_back(random() % 2 == 0 ? IngressFilter::kAll : static_cast<std::uint16_t>(random()));
    }
    return IngressFilter(std::move(levels));
  };
  for (std::uint64_t device = 1; device <= 1 + random() % 6; ++device) {
    const std::size_t count = 1 + random() % 6;
    const bool filters = random() % 3 != 0;
    const IngressFilter shared = filter(count + 1);
    for (std::uint8_t port = 1; port <= count; ++port) {
      PortTables& one = ports.emplace_back(PortTables{.port = {Guid(device), port}});
      one.sl_to_vl.emplace();
      for (auto& lane : *one.sl_to_vl) lane = static_cast<std::uint8_t>(random() % 16);
      if (filters && random() % 4 != 0) one.ingress = random() % 4 == 0 ? filter(count + 1) : shared;
      one.arbitration.emplace();
      for (std::uint64_t n = 1 + random() % 64; n > 0; --n) {
        one.arbitration->low.push_back(
            {static_cast<std::uint8_t>(random() % 15), static_cast<std::uint8_t>(random() % 256)});
      }
      if (random() % 5 == 0) one.pkeys = {0xffff};
    }
  }
  std::ranges::shuffle(ports, random);
  return ports;
}

void expect_same(const PortPolicy& policy, const std::vector<PortTables>& ports) {
  for (const PortTables& one : ports) {
    for (unsigned in = 0; in < 8; ++in) {
      EXPECT_EQ(policy.map(one.port.device, static_cast<std::uint8_t>(in), one.port.port), one.sl_to_vl_from(in))
          << to_string(one.port.device) << " from " << in << " to " << int{one.port.port};
    }
    const PortLanes* const lanes = policy.find(one.port);
    ASSERT_NE(lanes, nullptr);
    EXPECT_EQ(lanes->weights, one.arbitration->low);
  }
}

TEST(PortLanes, SayWhatTheTablesOfThePlanSay) {
  std::mt19937_64 random(5);
  std::size_t crossing = 0, entering = 0;
  for (int round = 0; round < 1'000; ++round) {
    const auto ports = random_tables(random);
    RoutingPolicy policy;
    policy.ports = port_policy(ports);
    expect_same(policy.ports, ports);
    crossing += policy.ports.crossing.size();
    entering += policy.ports.entering.size();
    policy = canonical(std::move(policy)).value();
    const auto read = read_policy(write_policy(policy));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, policy);
    expect_same(read->ports, ports);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(crossing, 1000U);
  EXPECT_GT(entering, 500U);
}

TEST(PortLanes, OneFilterOfAllOutputPortsIsSaidOnce) {
  std::vector<PortTables> ports;
  const IngressFilter filter({IngressFilter::kAll, 0x0003, IngressFilter::kAll});
  for (std::uint8_t port = 1; port <= 36; ++port) {
    PortTables& one = ports.emplace_back(PortTables{.port = {Guid(1), port}});
    one.sl_to_vl.emplace().fill(0);
    one.ingress = filter;
    one.arbitration = VlArbitration{.high = {}, .low = {{0, 255}}, .high_limit = 0};
  }
  const PortPolicy policy = port_policy(ports);
  EXPECT_EQ(policy.lanes.size(), 36U);
  EXPECT_EQ(policy.entering, (std::vector<EnteringLevels>{{{Guid(1), 1}, 0x0003}}));
  EXPECT_TRUE(policy.crossing.empty());
}

TEST(PortLanes, PortsThatAreNotNamedHaveNoTables) {
  const PortPolicy policy = port_policy({});
  EXPECT_TRUE(policy.empty());
  EXPECT_FALSE(policy.map(Guid(1), 0, 1));
  EXPECT_EQ(policy.find({Guid(1), 1}), nullptr);
}

std::string port_refusal(const std::string& lines) {
  const auto policy = read_policy(lines + "end 1 " + hex64(Fnv1a().add(lines).value()) + "\n");
  return policy ? "taken" : policy.error().text();
}

TEST(PortLanes, MalformedLinesAreNamed) {
  EXPECT_EQ(port_refusal("lanes 1/2 0123456789abcdef 0:255,14:0\nenter 1/3 00ff\ncross 1/3 2 000000000000000f\n"),
            "taken");
  EXPECT_EQ(port_refusal("keep-ports\n"), "taken");
  EXPECT_THAT(port_refusal("lanes 1/2 0123456789abcde 0:255\n"), HasSubstr("line 1"));
  EXPECT_THAT(port_refusal("lanes 1/2 0123456789abcdeF 0:255\n"), HasSubstr("line 1"));
  EXPECT_THAT(port_refusal("lanes 1/2 0123456789abcdef\n"), HasSubstr("line 1"));
  EXPECT_THAT(port_refusal("lanes 1/2 0123456789abcdef 0:256\n"), HasSubstr("line 1"));
  EXPECT_THAT(port_refusal("lanes 1/2 0123456789abcdef 0:1,\n"), HasSubstr("line 1"));
  EXPECT_THAT(port_refusal("lanes 1/2 0123456789abcdef 15:1\n"), HasSubstr("lanes 0 to 14"));
  EXPECT_THAT(port_refusal("lanes 1/0 0123456789abcdef 0:1\n"), HasSubstr("from 1 to 254"));
  EXPECT_THAT(port_refusal("lanes 0/1 0123456789abcdef 0:1\n"), HasSubstr("GUID not 0"));
  EXPECT_THAT(port_refusal("lanes 1/1 0123456789abcdef 0:1\nlanes 1/1 0123456789abcdef 0:1\n"), HasSubstr("twice"));
  EXPECT_THAT(port_refusal("enter 1/3 0ff\n"), HasSubstr("line 1"));
  EXPECT_THAT(port_refusal("enter 1/3 00ff\nenter 1/3 00ff\n"), HasSubstr("twice"));
  EXPECT_THAT(port_refusal("cross 1/3 0 000000000000000f\n"), HasSubstr("from 1 to 254"));
  EXPECT_THAT(port_refusal("keep-ports\nkeep-ports\n"), HasSubstr("line 2"));
  EXPECT_THAT(port_refusal("keep-ports\nenter 1/3 00ff\n"), HasSubstr("stay, or are given"));
}

}  // namespace
}  // namespace railweave::fabric::opensm
