// NCCL's description of a machine: the XML that NCCL_TOPO_DUMP_FILE writes and that cloud providers ship for
// NCCL_TOPO_FILE (NCCL's graph/xml.cc). GPUs and adapters hang on PCI bridges below the CPUs:
//
//   <system version="1"> <cpu numaid="0"> <pci busid="..." class="0x060400">
//     <pci busid="0000:07:00.0" class="0x030200"> <gpu dev="0"/> </pci>
//     <pci busid="0000:0c:00.0" class="0x020700"> <nic> <net name="mlx5_0"/> </nic> </pci> </pci> </cpu> </system>
//
// Near is what shares the lowest PCI bridge, then the CPU's NUMA node. GPUs are numbered by <gpu dev>, or in the order
// of their PCI bus ids where a file has no <gpu>; adapters are in the order of the bus. Where some adapters are named
// (<net>), the others are left out. Entities are not expanded, document types are ignored, nesting is limited.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/gpu/gpu_affinity.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

// Errors: not XML (with line and column), not a <system>, larger than kMaxAffinityBytes, no GPU, more GPUs or adapters
// than a host may have, a bus id that is none, two GPUs with one number.
Result<GpuAffinity> read_nccl_topology(std::string_view text, const ReadOptions& options);

}  // namespace railweave::fabric
