// Who sends over which adapter, by hand; and that predictions on bundles and on routes mean the same adapters.
#include "scheduler/collective/gpu_ports.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/topology/topology_builder.h"
#include "scheduler/collective/link_senders.h"
#include "scheduler/collective/placement_cost.h"
#include "scheduler/collective/routed_traffic.h"
#include "tests/unit/collective/routed_fabric.h"

namespace railweave::scheduler::gpu_ports_test {
namespace {

using fabric::GpuId;
using testing::RoutedFabric;
using Lists = std::vector<std::vector<unsigned>>;

// Hosts of one leaf per rail, all leaves on one spine by fat uplinks; `lists` are the adapters that each GPU names.
fabric::TopologyPtr host_fabric(std::size_t hosts, unsigned nics, const Lists& lists, std::size_t short_host = SIZE_MAX,
                                unsigned missing = 0) {
  fabric::TopologyBuilder builder;
  std::uint64_t guid = 1;
  const auto subnet = builder.subnet("compute", fabric::SubnetKind::compute);
  const auto ndr = fabric::infiniband_link(4, fabric::LinkSpeed::ndr);
  std::vector<fabric::SwitchDraft> leaves;
  const auto spine = builder.add_switch({.guid = Guid(0x9000), .name = "spine", .ports = 512, .subnet = subnet});
  for (unsigned r = 0; r < nics; ++r) {
    const std::string name = "leaf-" + std::to_string(r);
    leaves.push_back(builder.add_switch({.guid = Guid(0x8000 + r), .name = name, .ports = 128, .subnet = subnet}));
    for (unsigned up = 0; up < 16; ++up) builder.connect({leaves[r], 100 + up}, {spine, 1 + r * 16 + up}, ndr);
  }
  for (std::size_t h = 0; h < hosts; ++h) {
    const auto host = builder.host("node-" + std::to_string(h));
    std::vector<fabric::HcaDraft> adapters;
    for (unsigned n = 0; n < nics; ++n) {
      const std::string device = "mlx5_" + std::to_string(n);
      adapters.push_back(
          builder.add_hca({.guid = Guid(0x10000 + guid++), .host = host, .device = device, .description = device}));
      fabric::HcaPortSpec port;
      port.guid = Guid(0x20000 + guid++);
      const bool cabled = h != short_host || n != missing;
      if (cabled) port.rail = builder.rail("rail-" + std::to_string(n));
      builder.set_port(adapters.back(), 1, port);
      if (cabled) builder.connect({adapters.back(), 1}, {leaves[n], static_cast<unsigned>(1 + h)}, ndr);
    }
    for (std::size_t g = 0; g < std::max<std::size_t>(lists.size(), 1); ++g) {
      const auto gpu = builder.add_gpu(host);
      builder.set_nvlink_domain(gpu, builder.nvlink_domain("node-" + std::to_string(h), "", from_gbps(3600)));
      if (g < lists.size()) {
        for (const unsigned nic : lists[g]) builder.add_nic(gpu, adapters[nic]);
      }
    }
  }
  return std::make_shared<const fabric::Topology>(std::move(builder).build().value());
}

// By GPU of a host: the numbers of the adapters it sends over.
Lists used(const fabric::Topology& topology, const GpuPorts& ports, std::size_t host = 0) {
  Lists lists;
  for (const GpuId gpu : topology.gpus(fabric::HostId(host))) {
    lists.emplace_back();
    for (const auto port : ports.of(gpu)) {
      lists.back().push_back(static_cast<unsigned>(topology.device(topology.hca_of(port)).back() - '0'));
    }
  }
  return lists;
}

TEST(GpuPorts, AnAdapterIsOfTheGpusThatListItFirst) {
  const auto check = [](unsigned nics, const Lists& listed, const Lists& expected) {
    const auto topology = host_fabric(2, nics, listed);
    EXPECT_EQ(used(*topology, gpu_ports(*topology)), expected);
  };
  check(2, {{0, 1}, {1, 0}}, {{0}, {1}});              // the example of the native format
  check(4, {{0, 1}, {2, 3}}, {{0, 1}, {2, 3}});        // two of its own each
  check(2, {{0, 1}, {0, 1}}, {{0, 1}, {0, 1}});        // both behind one PCIe switch
  check(3, {{0, 1, 2}, {1, 0, 2}}, {{0, 2}, {1, 2}});  // the third is as far from both
  check(2, {{0}, {}}, {{0}, {0}});                     // a GPU that names none shares its neighbour's
}

// Adapter 2 of the last host is not cabled: its GPUs stay on the rails of their peers, GPU 2 shares with a neighbour.
TEST(GpuPorts, GpusOfAHostShortOfARailKeepTheRailsOfTheirPeers) {
  for (const bool known : {false, true}) {
    Lists lists{{}, {}, {}, {}, {}, {}, {}, {}};
    for (unsigned g = 0; known && g < 8; ++g) lists[g] = {g};
    const auto topology = host_fabric(6, 8, lists, 5, 2);
    const GpuPorts ports = gpu_ports(*topology);
    for (std::size_t host = 0; host < 6; ++host) {
      Lists expected{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
      if (host == 5) expected[2] = {1};
      EXPECT_EQ(used(*topology, ports, host), expected) << "host " << host << (known ? ", known" : ", dealt");
      EXPECT_EQ(ports.assumed[host], known ? 0 : 1);
    }
  }
}

// Nothing but adapters is shared, so bundles and routes have to agree, however many adapters the GPUs name.
TEST(GpuPorts, BundlesAndRoutesMeanTheSameAdapters) {
  const GpuGeneration ideal{.name = "ideal",
                            .nvlink_mbps = 3'600'000,
                            .constants = {.nvls_efficiency = 1, .ring_efficiency = 1, .network_efficiency = 1}};
  Lists all;  // every GPU lists every adapter, its own first
  for (unsigned g = 0; g < 8; ++g) {
    all.emplace_back();
    for (unsigned n = 0; n < 8; ++n) all.back().push_back((g + n) % 8);
  }
  for (const auto& [nics, lists] : {std::pair(2U, Lists{{0, 1}, {1, 0}}), std::pair(8U, all),
                                    std::pair(4U, Lists{{0, 1}, {2, 3}}), std::pair(2U, Lists{{0, 1}, {0, 1}})}) {
    const RoutedFabric fabric(host_fabric(4, nics, lists));
    const auto tensor = static_cast<std::uint32_t>(lists.size());
    const Parallelism p{.tensor = tensor, .data = 4};
    const auto gpus = fabric.gpus(4 * lists.size());
    const TrafficSpec traffic{.data = {.bytes = 1e9, .calls = 1}};
    PlacementCostModel model(fabric.bundles, ideal);
    LinkTraffic loads;
    const auto cost = model.predict(gpus, p, traffic, fabric.bundle_capacity, {}, &loads);
    const auto routed = routed_traffic({.topology = *fabric.topology,
                                        .walker = fabric.walker,
                                        .ports = fabric.ports,
                                        .bundles = fabric.bundles,
                                        .bundle_mbps = fabric.bundle_capacity},
                                       gpus, p, traffic, ideal, loads);
    const auto us = phases_time(routed.groups[static_cast<std::size_t>(CommGroup::data)], fabric.capacity, nullptr).us;
    EXPECT_NEAR(cost.of(CommGroup::data).transfer_us, us, 1e-6 * us) << nics << " adapters";
    // A vector of S over k = 4 hosts: 2 (k-1)/k S, over the adapters of the ring's member.
    const double rate = 400'000.0 * nics / std::max<double>(tensor, 1);
    EXPECT_NEAR(us, 2 * 0.75 * 1e9 * 8 / rate, 1e-6 * us) << nics << " adapters";
  }
}

}  // namespace
}  // namespace railweave::scheduler::gpu_ports_test
