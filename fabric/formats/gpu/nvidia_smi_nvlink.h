// Reads `nvidia-smi nvlink -s`: which NVLinks of one machine's GPUs are up, and how fast.
//
//   GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0b7d...)
//            Link 0: 26.562 GB/s
//            Link 1: <inactive>
//
// The text does not name the machine. Rates are of one direction; what nvidia-smi prints above a multiple of 25 GB/s is encoding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/units.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

struct GpuNvlinks {
  unsigned up = 0, down = 0;
  RateMbps rate;  // of all that are up, one direction, without encoding
};

struct MachineNvlinks {
  std::string product;  // of the first GPU
  std::vector<GpuNvlinks> gpus;
};

// "Link 0: 26.562 GB/s", without the blanks before it.
[[nodiscard]] bool is_nvlink_status_line(std::string_view line);

// Errors: no GPU, more than 64 of them, a link before the first GPU or one that is neither a rate nor inactive, with its line;
// tooLarge.
Result<MachineNvlinks> read_nvidia_smi_nvlink(std::string_view text, const ReadOptions& options);

}  // namespace railweave::fabric
