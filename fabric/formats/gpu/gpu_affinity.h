// Which adapters are near which GPU inside one kind of machine. Read from the output of NCCL or nvidia-smi
// (nccl_topology.h, nvidia_smi_topo.h) and applied to the hosts that are such machines. GPU i is never assumed to use
// adapter i.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

// How a byte gets from a GPU to an adapter; the words of `nvidia-smi topo -m`.
enum class PciDistance : std::uint8_t {
  same_switch,  // PIX: at most one PCIe switch between them
  switches,     // PXB: several PCIe switches, no host bridge
  host_bridge,  // PHB
  numa_node,    // NODE: through the CPU, within its NUMA node
  other_numa,   // SYS: from one NUMA node to another
};

struct GpuAffinity {
  struct Nic {
    std::string device;  // "mlx5_5"; empty where the source knows only its place on the PCI bus
    std::string bus_id;  // "0000:0c:00.0"; may be empty
  };
  struct Near {
    unsigned nic = 0;  // position in nics
    PciDistance distance = PciDistance::other_numa;
    unsigned hops = 0;  // PCI bridges passed, where the source shows them
  };
  std::vector<Nic> nics;  // in the order of the PCI bus, or of the matrix
  std::vector<std::vector<Near>>
      nics_of_gpu;  // by GPU index (that of nvidia-smi, which is PCI bus order): all, best first
};

// Limits on what is read.
inline constexpr std::size_t kMaxAffinityBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kMaxAffinityNics = 256;

// Sorts each GPU's adapters by distance, hops and order. Where several are equally near to several GPUs, each GPU
// starts with another one of them, so that they share the load.
void rank_adapters(GpuAffinity& affinity);

// "mlx5_5" and "HCA-6" are both the sixth adapter of a machine: its number counted from 0. SIZE_MAX for other names.
std::size_t adapter_ordinal(std::string_view device);

// Gives the GPUs of the host, or of all hosts with that many GPUs, their adapters: of those that the host has in the
// fabric the nearest, with all that are equally near. GPUs that have adapters keep them. An adapter is found by its
// device name; failing that by its number (adapter_ordinal), and where the affinity has no names by its place, if host
// and affinity have equally many. Findings: affinityNotApplied (hosts none of whose adapters is found), gpuWithoutNic.
// Returns how many hosts got at least one adapter.
std::size_t apply_affinity(const GpuAffinity& affinity, TopologyBuilder& builder);
// ... of those among these hosts, by name.
std::size_t apply_affinity(const GpuAffinity& affinity, const std::function<bool(std::string_view)>& among,
                           TopologyBuilder& builder);
std::size_t apply_affinity(const GpuAffinity& affinity, HostDraft host, TopologyBuilder& builder);

}  // namespace railweave::fabric
