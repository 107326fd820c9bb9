#include "services/rest/handlers/topology_import.h"

#include <algorithm>
#include <utility>

#include "fabric/formats/gpu/attach_gpus.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/formats/read_fabric.h"
#include "fabric/topology/replace_subnet.h"
#include "services/json/digest.h"

namespace railweave::api {
namespace {

Result<void> add_gpus(fabric::TopologyBuilder& builder, unsigned per_node, unsigned domain) {
  if (per_node == 0) return {};
  fabric::GpuAttachment plan;
  plan.gpus_per_node = per_node;
  plan.nvlink_domain_gpus = domain == 0 ? per_node : domain;
  auto attached = fabric::attach_gpus(builder, plan);
  if (!attached) return std::unexpected(attached.error());
  return {};
}

Result<ImportedTopology> finish(fabric::TopologyBuilder builder) {
  auto topology = std::move(builder).build();
  if (!topology) return std::unexpected(topology.error());
  ImportedTopology imported;
  imported.topology = std::make_shared<const fabric::Topology>(std::move(*topology));
  imported.document = std::make_shared<const std::string>(fabric::write_native_json(*imported.topology));
  imported.digest = sha256_hex(*imported.document);
  return imported;
}

bool wants_gpus(const fabric::TopologyBuilder& builder) {
  for (std::size_t i = 0; i < builder.host_count(); ++i) {
    const fabric::HostDraft host(i);
    if (builder.kind(host) == fabric::HostKind::compute && builder.gpu_count(host) == 0) return true;
  }
  return false;
}

}  // namespace

Result<ImportedTopology> import_topology(const TopologyImport& import, const fabric::Topology& present) {
  using fabric::Format;
  const Format format = import.format == Format::unknown ? fabric::detect_format(import.text) : import.format;
  fabric::ReadOptions options;
  options.source = import.source;
  options.subnet = import.subnet;

  fabric::TopologyBuilder builder;
  const bool anything_present = !present.switches().empty() || !present.hosts().empty();
  if (import.merge && anything_present) {
    fabric::ReadOptions present_options;
    present_options.source = "present topology";
    if (auto read = fabric::read_native_json(fabric::write_native_json(present), present_options, builder); !read) {
      return std::unexpected(read.error());
    }
  }
  if (auto read = fabric::read_into(import.text, format, options, builder); !read) return std::unexpected(read.error());
  if (auto given = add_gpus(builder, import.gpus_per_node, import.nvlink_domain_gpus); !given) {
    return std::unexpected(given.error());
  }
  return finish(std::move(builder));
}

Result<ImportedTopology> import_discovered(const DiscoveredSubnet& discovered, const fabric::Topology& present) {
  auto replaced = fabric::replace_subnet(present, *discovered.found, discovered.subnet);
  if (!replaced.hosts_lost.empty() && discovered.gpus_per_node == 0) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(replaced.hosts_lost.size(), 5); ++i) {
      names += (i == 0 ? "" : ", ") + replaced.hosts_lost[i];
    }
    return fail(ErrorKind::conflict, "topology.losesGpus",
                std::to_string(replaced.hosts_lost.size()) + " node(s) with " + std::to_string(replaced.gpus_lost) +
                    " GPUs were not found: " + names + (replaced.hosts_lost.size() > 5 ? "..." : ""),
                {}, "cable them, or set gpusPerNode for the nodes that were found: the others are then removed");
  }
  if (wants_gpus(replaced.builder)) {
    if (auto given = add_gpus(replaced.builder, discovered.gpus_per_node, discovered.nvlink_domain_gpus); !given) {
      return std::unexpected(given.error());
    }
  }
  return finish(std::move(replaced.builder));
}

}  // namespace railweave::api
