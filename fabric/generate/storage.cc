#include "fabric/generate/storage.h"

#include <string>
#include <vector>

#include <fmt/core.h>

#include "fabric/generate/clos.h"

namespace railweave::fabric {
namespace {

Result<ClosPlan> plan_storage(std::uint64_t adapters) {
  ClosSpec spec;
  for (spec.tiers = 1; spec.tiers <= 3; ++spec.tiers) {
    const auto ports = leaf_ports(spec);
    if (!ports) return std::unexpected(ports.error());
    auto plan = plan_clos(spec, (adapters + ports->down - 1) / ports->down);
    if (plan || spec.tiers == 3) return plan;
  }
  return fail(ErrorKind::internal, "generate.internal", "no storage network was planned");
}

}  // namespace

Result<void> add_storage(const ClusterSpec& cluster, const HostBlock& block, TopologyBuilder& builder) {
  if (cluster.storage_servers == 0) return {};
  const std::string& prefix = cluster.hosts.prefix;
  const std::uint64_t count = block.hosts.size() + cluster.storage_servers;
  const auto plan = plan_storage(count);
  if (!plan) return std::unexpected(plan.error());
  if (auto ok = check_size({plan->switches(), plan->radix, count}, cluster); !ok) return ok;

  std::vector<HcaDraft> adapters;
  const auto add_adapter = [&](HostDraft host, const std::string& name, const std::string& device) {
    const std::string description = name + " " + device;
    adapters.push_back(builder.add_hca({.guid = generated_hca_guid(builder.hca_count()),
                                        .host = host,
                                        .device = device,
                                        .description = description,
                                        .ports = 1}));
  };
  const std::string device = fmt::format("mlx5_{}", block.nics_per_host);
  for (std::size_t h = 0; h < block.hosts.size(); ++h) {
    add_adapter(block.hosts[h], numbered(prefix + "node-", h, block.hosts.size()), device);
  }
  for (std::uint32_t s = 0; s < cluster.storage_servers; ++s) {
    const std::string name = numbered(prefix + "storage-", s, cluster.storage_servers);
    add_adapter(builder.host(name, HostKind::storage), name, "mlx5_0");
  }

  NetworkDraft network(builder, {.subnet = prefix + "storage",
                                 .kind = SubnetKind::storage,
                                 .prefix = prefix + "storage-",
                                 .host_link = cluster.host_link,
                                 .switch_link = cluster.switch_link});
  std::vector<SwitchDraft> leaves;
  for (std::uint32_t leaf = 0; leaf < plan->leaves; ++leaf) {
    leaves.push_back(network.add_switch(numbered("leaf-", leaf, plan->leaves), plan->radix, pod_name(*plan, leaf)));
  }
  for (std::size_t n = 0; n < adapters.size(); ++n) {
    network.attach(leaves[n / plan->leaf.down], static_cast<std::uint32_t>(n % plan->leaf.down + 1), adapters[n]);
  }
  build_clos_above(*plan, leaves, network);
  return {};
}

}  // namespace railweave::fabric
