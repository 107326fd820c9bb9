// What `nvidia-smi topo -m` prints on one kind of machine:
//
//           GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity
//   GPU0     X      NV18    PIX     0-55            0
//   GPU1    NV18     X      NODE    0-55            0
//   NIC0    PIX     NODE     X
//   Legend: ...
//   NIC Legend:
//     NIC0: mlx5_0
//
// Cells between a GPU and an adapter: PIX, PXB, PHB, NODE, SYS (and SOC, as older drivers called it). Without a NIC
// legend a column's title is the device's name ("mlx5_0"). Escape sequences that underline the titles, tabs or blanks,
// CR LF and text around the matrix do not matter.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/gpu/gpu_affinity.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

// A machine without adapters in the matrix gives GPUs without adapters. Errors: no line of titles with GPU0, a row that
// is cut short or has a cell that is none of the words, a GPU without its row, larger than kMaxAffinityBytes.
Result<GpuAffinity> read_nvidia_smi_topo(std::string_view text, const ReadOptions& options);

}  // namespace railweave::fabric
