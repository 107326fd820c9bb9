// Several sources of one site as one fabric: what dumps say of cables, and what schedulers and machines say of hosts, each
// with its source. The order of sources counts where they contradict each other: the first one says.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/sources/source_kind.h"

namespace railweave::fabric {

class Topology;

struct SiteSource {
  std::string name;     // the file's, for messages
  std::string device;   // the host or switch that the file's name says; for sources that name none themselves
  std::string read_at;  // when; empty: not told
  Recognised recognised;
  std::string_view text;
};

struct SiteImportOptions {
  std::string subnet = "default";
  unsigned gpus_per_node = 0;                   // for hosts of which no source tells; 0: none
  unsigned nvlink_domain = 0;                   // GPUs; 0: as gpus_per_node
  std::function<bool(std::string_view)> hosts;  // that files of machines are about; null: all
};

struct SiteImport {
  std::shared_ptr<const Topology> topology;
};

// Sources that tell nothing of the fabric are passed over. Findings of the topology: those of all readers, readFrom (one
// for each source) and groupNotNear. Errors: those of the readers; site.nothing, where no source has a host or switch.
Result<SiteImport> import_site(const std::vector<SiteSource>& sources, const SiteImportOptions& options);

// "leaf-1" of "dumps/leaf-1.lldp.json".
std::string device_of_file(std::string_view path);

}  // namespace railweave::fabric
