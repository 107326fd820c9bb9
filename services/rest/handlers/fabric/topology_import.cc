#include "services/rest/handlers/fabric/topology_import.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/formats/gpu/attach_gpus.h"
#include "fabric/formats/gpu/gpu_affinity.h"
#include "fabric/formats/gpu/nccl_topology.h"
#include "fabric/formats/gpu/nvidia_smi_topo.h"
#include "fabric/formats/gpu/nvlink_cliques.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/formats/read_fabric.h"
#include "fabric/topology/replace_subnet.h"
#include "services/json/digest.h"
#include "services/json/strict_json.h"
#include "services/rest/handlers/fabric/name_pattern.h"
#include "services/rest/handlers/fabric/node_facts.h"

namespace railweave::api {
namespace {

using fabric::Format;

constexpr std::size_t kMaxFiles = 1'000;

Result<void> add_gpus(fabric::TopologyBuilder& builder, unsigned per_node, unsigned domain) {
  if (per_node == 0) return {};
  fabric::GpuAttachment plan;
  plan.gpus_per_node = per_node;
  plan.nvlink_domain_gpus = domain == 0 ? per_node : domain;
  auto attached = fabric::attach_gpus(builder, plan);
  if (!attached) return std::unexpected(attached.error());
  return {};
}

bool of_machines(Format format) {
  return format == Format::nccl_topology || format == Format::nvidia_smi_topo || format == Format::nvlink_cliques;
}

Result<void> add_machines(const ImportedFile& file, Format format, const std::string& hosts,
                          fabric::TopologyBuilder& builder) {
  const fabric::ReadOptions options{.source = file.source, .subnet = {}};
  if (format == Format::nvlink_cliques) {
    fabric::NvlinkCliqueOptions cliques;
    cliques.read = options;
    return fabric::read_nvlink_cliques(file.text, cliques, builder);
  }
  const auto affinity = format == Format::nccl_topology ? fabric::read_nccl_topology(file.text, options)
                                                        : fabric::read_nvidia_smi_topo(file.text, options);
  if (!affinity) return std::unexpected(affinity.error());
  const std::string_view pattern = hosts.empty() ? std::string_view("*") : std::string_view(hosts);
  const auto applied =
      fabric::apply_affinity(*affinity, [&](std::string_view name) { return matches_pattern(pattern, name); }, builder);
  if (applied > 0) return {};
  return fail(ErrorKind::invalid, "gpus.noHost",
              fmt::format("no host called like {} has {} GPUs and one of the adapters of this machine", pattern,
                          affinity->nics_of_gpu.size()),
              file.source, "name the hosts with --hosts, or give GPUs with --gpus-per-node");
}

bool wants_gpus(const fabric::TopologyBuilder& builder) {
  for (std::size_t i = 0; i < builder.host_count(); ++i) {
    const fabric::HostDraft host(i);
    if (builder.kind(host) == fabric::HostKind::compute && builder.gpu_count(host) == 0) return true;
  }
  return false;
}

}  // namespace

Result<ImportedTopology> finish_import(fabric::TopologyBuilder builder) {
  auto topology = std::move(builder).build();
  if (!topology) return std::unexpected(topology.error());
  ImportedTopology imported;
  imported.topology = std::make_shared<const fabric::Topology>(std::move(*topology));
  imported.document = std::make_shared<const std::string>(fabric::write_native_json(*imported.topology));
  imported.digest = sha256_hex(*imported.document);
  return imported;
}

Result<std::vector<ImportedFile>> read_file_bundle(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  ObjectReader reader(*value, "");
  reader.require("files");
  std::vector<ImportedFile> files;
  if (const Json* list = reader.take("files")) {
    if (!list->is_array() || list->empty() || list->size() > kMaxFiles) {
      reader.set_error("files", fmt::format("is no list of 1 to {} files", kMaxFiles));
    } else {
      for (std::size_t i = 0; i < list->size(); ++i) {
        ObjectReader fields((*list)[i], fmt::format("{}/{}", reader.pointer("files"), i));
        ImportedFile file;
        std::string format = "auto";
        fields.require("name");
        fields.require("text");
        fields.read("name", file.source);
        fields.read("text", file.text);
        fields.read("format", format);
        const auto known = fabric::parse_format(format);
        if (!known && format != "auto") fields.set_error("format", "is no format of a file");
        file.format = known.value_or(Format::unknown);
        if (auto done = fields.finish(); !done) {
          reader.set_error(std::move(done.error()));
          break;
        }
        files.push_back(std::move(file));
      }
    }
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return files;
}

Result<ImportedTopology> import_topology(const TopologyImport& import, const fabric::Topology& present) {
  std::vector<Format> formats;
  bool any_fabric = false;
  for (const auto& file : import.files) {
    formats.push_back(file.format == Format::unknown ? fabric::detect_format(file.text) : file.format);
    any_fabric = any_fabric || !of_machines(formats.back());
  }
  fabric::TopologyBuilder builder;
  const bool anything_present = !present.switches().empty() || !present.hosts().empty();
  if ((import.merge || !any_fabric) && anything_present) {
    fabric::ReadOptions present_options;
    present_options.source = "present topology";
    if (auto read = fabric::read_native_json(fabric::write_native_json(present), present_options, builder); !read) {
      return std::unexpected(read.error());
    }
  }
  // First fabrics, then what is said of the machines in them.
  const bool machines_alone = !any_fabric && !anything_present;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (of_machines(formats[i]) && !machines_alone) continue;
    const fabric::ReadOptions options{.source = import.files[i].source, .subnet = import.subnet};
    if (auto read = fabric::read_into(import.files[i].text, formats[i], options, builder); !read) {
      return std::unexpected(read.error());
    }
  }
  if (auto given = add_gpus(builder, import.gpus_per_node, import.nvlink_domain_gpus); !given) {
    return std::unexpected(given.error());
  }
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (!of_machines(formats[i])) continue;
    if (auto added = add_machines(import.files[i], formats[i], import.hosts, builder); !added) {
      return std::unexpected(added.error());
    }
  }
  auto imported = finish_import(std::move(builder));
  const bool says_all = std::ranges::find(formats, Format::native) != formats.end();
  if (!imported || import.merge || says_all || !any_fabric || !anything_present) return imported;
  return keep_node_facts(present, std::move(*imported));
}

Result<ImportedTopology> import_discovered(const DiscoveredSubnet& discovered, const fabric::Topology& present) {
  auto replaced = fabric::replace_subnet(present, *discovered.found, discovered.subnet);
  if (!replaced.hosts_lost.empty() && discovered.gpus_per_node == 0) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(replaced.hosts_lost.size(), 5); ++i) {
      names += (i == 0 ? "" : ", ") + replaced.hosts_lost[i];
    }
    return fail(ErrorKind::conflict, "topology.losesGpus",
                fmt::format("{} node(s) with {} GPUs were not found: {}{}", replaced.hosts_lost.size(),
                            replaced.gpus_lost, names, replaced.hosts_lost.size() > 5 ? "..." : ""),
                {}, "cable them, or set gpusPerNode for the nodes that were found: the others are then removed");
  }
  if (wants_gpus(replaced.builder)) {
    if (auto given = add_gpus(replaced.builder, discovered.gpus_per_node, discovered.nvlink_domain_gpus); !given) {
      return std::unexpected(given.error());
    }
  }
  return finish_import(std::move(replaced.builder));
}

}  // namespace railweave::api
