// What a message waits for besides its bytes: software, adapters, switches, cables, and the steps of NCCL's protocols.
#pragma once

#include <array>
#include <cstdint>

namespace railweave::scheduler {

// NCCL's protocols: LL sends 4 bytes of flag with every 4 of data, LL128 8 with every 120, Simple synchronises by
// chunk.
enum class Protocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::array kProtocols{Protocol::ll, Protocol::ll128, Protocol::simple};

// What a path is made of, as far as its latency goes.
struct PathShape {
  unsigned switches = 0;  // of the network
  double cable_m = 0;
  bool network = false;  // else NVLink, or inside the host
};

struct LatencyConstants {
  // Of a link crossed in the network: port to port of a Quantum-2 or Spectrum switch, and light in glass or copper.
  double switch_us = 0.25;
  double cable_us_per_m = 0.005;
  double default_cable_m = 5;  // of a cable of unknown length
  // NCCL's tuning constants (src/graph/tuning.cc, baseLat and hwLat), by protocol, in microseconds.
  std::array<double, 3> tree_base_us{6.8, 14, 8.4}, ring_base_us{6.6, 14, 8.4};
  std::array<double, 3> tree_nvlink_us{0.6, 1.25, 4.0}, ring_nvlink_us{0.6, 1.9, 3.4};
  std::array<double, 3> tree_network_us{5, 8.5, 14}, ring_network_us{2.7, 4.0, 14};
};

constexpr std::size_t index_of(Protocol protocol) { return static_cast<std::size_t>(protocol); }

// Of the path alone: switches and cables.
double path_us(const PathShape& path, const LatencyConstants& constants = {});

// One step of a ring between neighbours on that path.
double ring_step_us(const PathShape& path, Protocol protocol, const LatencyConstants& constants = {});

// What NCCL's tuner expects of an all-reduce of nothing over `domains` NVLink domains of `members` ranks each:
//   ring  base + 2(n - domains) nvlink + 2(domains - 1) network (one domain: 2(n - 1) nvlink)
//   tree  base + 2((members - 1) nvlink + log2(domains) network)
double ring_all_reduce_latency_us(std::uint64_t members, std::uint64_t domains, Protocol protocol,
                                  const LatencyConstants& constants = {});
double tree_all_reduce_latency_us(std::uint64_t members, std::uint64_t domains, Protocol protocol,
                                  const LatencyConstants& constants = {});

}  // namespace railweave::scheduler
