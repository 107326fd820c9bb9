// Turning an uploaded file into a topology that can be accepted: read, merge with what is there, give GPUs to hosts of
// a dump that knows none, bring into the native form.
#pragma once

#include <memory>
#include <string>

#include "fabric/base/error.h"
#include "fabric/formats/format.h"
#include "fabric/topology/topology.h"

namespace railweave::api {

struct TopologyImport {
  std::string text;
  fabric::Format format = fabric::Format::unknown;  // unknown: found out from the text
  std::string source;                               // for people, and in error messages
  std::string subnet = "default";                   // what the subnet described is called
  unsigned gpus_per_node = 0;                       // 0: as the file says
  unsigned nvlink_domain_gpus = 0;                  // 0: as gpus_per_node
  bool merge = false;                               // adds to the present topology instead of replacing it
};

struct ImportedTopology {
  fabric::TopologyPtr topology;
  std::shared_ptr<const std::string> document;  // native JSON
  std::string digest;                           // SHA-256 of it
};

Result<ImportedTopology> import_topology(const TopologyImport& import, const fabric::Topology& present);

struct DiscoveredSubnet {
  fabric::TopologyPtr found;
  std::string subnet;
  unsigned gpus_per_node = 0;  // for hosts that the present topology gives no GPUs; 0: they get none
  unsigned nvlink_domain_gpus = 0;
};
// The present topology with that subnet as found. Errors: "topology.losesGpus" where hosts with GPUs are not found and
// gpus_per_node is not given.
Result<ImportedTopology> import_discovered(const DiscoveredSubnet& discovered, const fabric::Topology& present);

}  // namespace railweave::api
