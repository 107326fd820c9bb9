// Reads what an NMX controller (NMX-C, the manager of an NVLink domain) answers to GetGpuInfoList, as grpcurl prints it or
// with the names of the protocol: which GPUs are in the domain, in which tray, and in which partition.
//
//   {"serverHeader": {"domainUuid": "9f1c...", "returnCode": "NMX_ST_SUCCESS"},
//    "gpuInfoList": [{"loc": {"chassisSerialNumber": "1821224000123", "trayIndex": 3,
//                             "location": {"chassisId": "1", "slotId": "13", "hostId": "1"}},
//                     "gpuId": 1, "gpuUid": "11601272640106402", "gpuHealth": "NMX_GPU_HEALTH_HEALTHY",
//                     "partitionId": {"partitionId": 32766}}]}
//
// It names no host: a GPU is known by its fabric GUID, which `nvidia-smi -q -x` of its host tells too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

struct NmxGpu {
  std::uint64_t guid = 0;
  std::string tray;             // "chassis 1821224000123, slot 13"
  std::uint32_t partition = 0;  // the clique of its driver; 0: none
  std::string health;           // as written; "" where it was not told
};

struct NmxDomain {
  std::string uuid;  // the cluster UUID of its GPUs' drivers
  std::vector<NmxGpu> gpus;
};

inline constexpr std::size_t kMaxNmxGpus = 65'536;

// True for what keeps a GPU from NVLink altogether, by its health.
[[nodiscard]] bool is_without_nvlink(const NmxGpu& gpu);

// Errors: no such JSON (with line and column), an answer that is no success, no UUID of the domain, no GPU, tooLarge.
Result<NmxDomain> read_nmx_gpus(std::string_view text, const ReadOptions& options);

}  // namespace railweave::fabric
