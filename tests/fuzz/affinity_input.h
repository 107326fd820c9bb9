// What the fuzz targets of GPU affinity do with what they read: apply it to two kinds of hosts and build the fabric.
#pragma once

#include <string>

#include "fabric/base/check.h"
#include "fabric/formats/gpu/gpu_affinity.h"

namespace railweave::fabric {

inline void check_affinity(const GpuAffinity& affinity) {
  TopologyBuilder builder;
  for (const char* prefix : {"mlx5_", "HCA-"}) {
    const HostDraft host = builder.host(prefix);
    for (std::size_t g = 0; g < affinity.nics_of_gpu.size(); ++g) builder.add_gpu(host);
    for (int i = 0; i < 3; ++i) {
      builder.add_hca({.guid = Guid(builder.hca_count() + 1),
                       .host = host,
                       .device = prefix + std::to_string(i),
                       .description = {}});
    }
  }
  for (const auto& ranked : affinity.nics_of_gpu) {
    RAILWEAVE_CHECK(ranked.size() == affinity.nics.size(), "every GPU ranks every adapter");
  }
  apply_affinity(affinity, builder);
  RAILWEAVE_CHECK(std::move(builder).build().has_value(), "the fabric builds");
}

}  // namespace railweave::fabric
