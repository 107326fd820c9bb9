// Reduction in switches that a job asks for, where the network of its GPUs has it and where not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/topology/topology_builder.h"
#include "scheduler/placement/placer.h"

namespace railweave::scheduler::reduction_test {
namespace {

using ::testing::HasSubstr;

// Four hosts of four GPUs behind one switch. (With two, a ring sends no more than switches that reduce.)
PlacementFabricPtr four_hosts(bool aggregation) {
  fabric::TopologyBuilder builder;
  const auto sw = builder.add_switch({.guid = Guid(1), .name = "leaf", .ports = 8});
  for (unsigned h = 0; h < 4; ++h) {
    const auto host = builder.host("node-" + std::to_string(h));
    const auto hca = builder.add_hca({.guid = Guid(10 + h), .host = host, .device = "mlx5_0"});
    builder.connect({sw, h + 1}, {hca, 1}, fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
    const auto domain = builder.nvlink_domain("node-" + std::to_string(h), "", from_gbps(3600));
    for (unsigned g = 0; g < 4; ++g) {
      const auto gpu = builder.add_gpu(host);
      builder.set_nvlink_domain(gpu, domain);
      builder.add_nic(gpu, hca);
    }
  }
  if (aggregation) {
    const auto node = builder.add_hca({.guid = Guid(20), .kind = fabric::HcaKind::aggregation});
    builder.connect({sw, 8}, {node, 1}, fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
  }
  auto topology = std::move(builder).build();
  EXPECT_TRUE(topology) << topology.error().text();
  return std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(std::move(*topology)));
}

JobSpec reduced(std::uint32_t data, GradientExchange exchange) {
  JobSpec spec;
  spec.parallelism.data = data;
  spec.traffic = TrafficSpec{};
  spec.traffic->data = {.bytes = 1e9, .calls = 1, .exchange = exchange};
  return spec;
}

TEST(Reduction, IsSaidWhereNoSwitchReduces) {
  Placer placer(four_hosts(false));
  const auto across = placer.place(reduced(16, GradientExchange::in_network));
  ASSERT_EQ(across.outcome, Outcome::placed);
  ASSERT_EQ(across.warnings.size(), 1U);
  EXPECT_THAT(across.warnings[0], HasSubstr("has an aggregation node: gradients are predicted as rings"));
  // And it is what is predicted.
  const auto rings = placer.place(reduced(16, GradientExchange::rings));
  EXPECT_TRUE(rings.warnings.empty());
  EXPECT_DOUBLE_EQ(across.placement.predicted->communication_us, rings.placement.predicted->communication_us);
  // NVLink alone needs no network.
  EXPECT_TRUE(placer.place(reduced(4, GradientExchange::in_network)).warnings.empty());
}

TEST(Reduction, IsPredictedWhereSwitchesReduce) {
  Placer placer(four_hosts(true));
  const auto across = placer.place(reduced(16, GradientExchange::in_network));
  ASSERT_EQ(across.outcome, Outcome::placed);
  EXPECT_TRUE(across.warnings.empty());
  EXPECT_LT(across.placement.predicted->communication_us,
            placer.place(reduced(16, GradientExchange::rings)).placement.predicted->communication_us);
}

}  // namespace
}  // namespace railweave::scheduler::reduction_test
