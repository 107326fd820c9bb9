// Joins what NMX controllers tell of GPUs with the hosts whose drivers tell the same fabric GUIDs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/formats/gpu/nmx_gpus.h"
#include "fabric/formats/site/site_facts.h"

namespace railweave::fabric {

struct HostGuids {
  std::string host;
  std::vector<std::uint64_t> guids;
};

struct NmxSource {
  std::string name;  // of the file
  NmxDomain domain;
};

// Each host's domain is that of its first GPU that a controller knows: UUID and partition, which is what drivers tell as
// cluster UUID and clique. Left out by name: trays that no host tells of, GPUs in no partition, in another one than their
// host's first, or without NVLink.
void join_nmx_hosts(const std::vector<NmxSource>& sources, const std::vector<HostGuids>& hosts, SiteFacts& facts);

}  // namespace railweave::fabric
