// Everything that a site already has and Railweave reads, told apart by content and never by a file's name. A text of
// another tool is nothing of these: unknown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/enum_text.h"

namespace railweave::fabric {

enum class SourceKind : std::uint8_t {
  unknown,
  ibnetdiscover,  // InfiniBand: devices and cables
  ibsim,
  iblinkinfo,
  ibdiagnet_csv,
  opensm_links,
  ufm_ports,
  ufm_links,
  native,
  lldp,  // Ethernet: neighbours of one device
  sonic_config,
  sonic_neighbours,
  openconfig,
  slurm_topology,  // schedulers and clouds: hosts, GPUs, groups
  slurm_topology_yaml,
  slurm_nodes,
  kubernetes_nodes,
  topograph_model,
  ufm_systems,  // what UFM says of devices that cables tell of
  ufm_partitions,
  nmx_gpus,          // the manager of an NVLink domain
  nvidia_smi_query,  // one machine, or kind of machines
  nvidia_smi_nvlink,
  nvidia_smi_topo,
  nccl_topology,
  nvlink_cliques,
  opensm_tables,  // what is not of the fabric, but of what happens on it
  opensm_levels,
  opensm_lane_maps,
  slurm_jobs,
  slurm_accounting,
  kubernetes_pods,
  job_environment,
};
BOOST_DESCRIBE_ENUM(SourceKind, unknown, ibnetdiscover, ibsim, iblinkinfo, ibdiagnet_csv, opensm_links, ufm_ports,
                    ufm_links, native, lldp, sonic_config, sonic_neighbours, openconfig, slurm_topology,
                    slurm_topology_yaml, slurm_nodes, kubernetes_nodes, topograph_model, ufm_systems, ufm_partitions,
                    nmx_gpus, nvidia_smi_query, nvidia_smi_nvlink, nvidia_smi_topo, nccl_topology, nvlink_cliques,
                    opensm_tables, opensm_levels, opensm_lane_maps, slurm_jobs, slurm_accounting, kubernetes_pods,
                    job_environment)

struct Recognised {
  SourceKind kind = SourceKind::unknown;
  std::string why;  // what in the text tells: "line 2 is 'START_NODES'"; of an unknown one what it looks like
};

// O(bytes) at worst.
Recognised recognise(std::string_view text);

std::string_view to_string(SourceKind kind);
// For people: "output of iblinkinfo".
std::string_view description(SourceKind kind);
// Whether it tells of the fabric, or of jobs and routes on it.
bool tells_of_fabric(SourceKind kind);
// A list for people of all that is read, a line each.
std::string readable_sources();

}  // namespace railweave::fabric
