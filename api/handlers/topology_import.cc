#include "api/handlers/topology_import.h"

#include <utility>

#include "api/dto/digest.h"
#include "fabric/formats/attach_gpus.h"
#include "fabric/formats/native_json.h"
#include "fabric/formats/read_fabric.h"

namespace railweave::api {

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
  if (import.gpus_per_node > 0) {
    fabric::GpuAttachment plan;
    plan.gpus_per_node = import.gpus_per_node;
    plan.nvlink_domain_gpus = import.nvlink_domain_gpus == 0 ? import.gpus_per_node : import.nvlink_domain_gpus;
    if (auto attached = fabric::attach_gpus(builder, plan); !attached) return std::unexpected(attached.error());
  }
  auto topology = std::move(builder).build();
  if (!topology) return std::unexpected(topology.error());

  ImportedTopology imported;
  imported.topology = std::make_shared<const fabric::Topology>(std::move(*topology));
  imported.document = std::make_shared<const std::string>(fabric::write_native_json(*imported.topology));
  imported.digest = sha256_hex(*imported.document);
  return imported;
}

}  // namespace railweave::api
