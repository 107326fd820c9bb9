// Slurm's texts of generic resources.
#pragma once

#include <string_view>

namespace railweave::fabric {

// GPUs that a GRES says: "gpu:h100:8(S:0-1),nic:4" -> 8 and "h100".
struct GresGpus {
  unsigned count = 0;
  std::string_view model;  // of the first; empty: not said
};
GresGpus gpus_of_gres(std::string_view gres);

}  // namespace railweave::fabric
