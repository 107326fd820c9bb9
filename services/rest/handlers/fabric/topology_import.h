// Turning uploaded files into a topology that can be accepted: read, merge with what is there, add GPUs to hosts of a
// dump without any, give them the adapters and NVLink domains that files about machines say, convert to the native form.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/format.h"
#include "fabric/topology/topology.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::api {

struct ImportedFile {
  std::string text;
  std::string source;                               // shown to users and in error messages
  fabric::Format format = fabric::Format::unknown;  // unknown: detected from the text
};

struct TopologyImport {
  std::vector<ImportedFile> files;  // of fabrics, and of machines: all of them or none are imported
  std::string source;               // of them all, shown to users
  std::string hosts;                // the hosts that files about machines are about: "dgx-*"; "": all that fit
  std::string subnet = "default";   // name of the subnet described
  unsigned gpus_per_node = 0;       // 0: as the file says
  unsigned nvlink_domain_gpus = 0;  // 0: as gpus_per_node
  bool merge = false;  // adds to the present topology instead of replacing it; implied without a file of a fabric
};

struct ImportedTopology {
  fabric::TopologyPtr topology;
  std::shared_ptr<const std::string> document;  // native JSON
  std::string digest;                           // SHA-256 of it
};

// Builds it and writes the native form.
Result<ImportedTopology> finish_import(fabric::TopologyBuilder builder);

// The files of {"files": [{"name", "text", "format"}]}; formats are detected where none is given.
Result<std::vector<ImportedFile>> read_file_bundle(std::string_view body);

Result<ImportedTopology> import_topology(const TopologyImport& import, const fabric::Topology& present);

struct DiscoveredSubnet {
  fabric::TopologyPtr found;
  std::string subnet;
  unsigned gpus_per_node = 0;  // for hosts without GPUs in the present topology; 0: they get none
  unsigned nvlink_domain_gpus = 0;
};
// The present topology with that subnet as found. Errors: "topology.losesGpus" where hosts with GPUs are not found and
// gpus_per_node is not given.
Result<ImportedTopology> import_discovered(const DiscoveredSubnet& discovered, const fabric::Topology& present);

}  // namespace railweave::api
