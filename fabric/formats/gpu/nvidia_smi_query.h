// Reads `nvidia-smi -q -x`, all that the driver knows of one machine's GPUs: their number, their product, the NVLink
// domain that they are in (<fabric> with <clusterUuid> and <cliqueId>) and what they are called there (<platformInfo> with
// <gpu_fabric_guid>). The text does not name the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

struct MachineGpus {
  unsigned gpus = 0;
  std::string product;
  std::string cluster_uuid, clique;         // as written; empty: none, or N/A
  std::vector<std::uint64_t> fabric_guids;  // of those that tell one
  bool differ = false;                      // GPUs of several products or cliques: those of the first are told
};

inline constexpr std::size_t kMaxSmiQueryBytes = std::size_t{16} << 20U;

// Errors: not XML (with line and column), no <nvidia_smi_log>, no <gpu>, more than 64 of them, tooLarge.
Result<MachineGpus> read_nvidia_smi_query(std::string_view text, const ReadOptions& options);

}  // namespace railweave::fabric
