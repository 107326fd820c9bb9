// Packet memory of an Ethernet switch as SONiC's config_db has it: pools, profiles, and per port and priority group the
// headroom that a lossless class needs until its PFC pause takes effect.
//
// Headroom, as SONiC's dynamic buffer model computes it (sonic-swss, cfgmgr/buffer_headroom_mellanox.lua; SONiC design
// "Dynamically Headroom Calculation"): after a pause is decided, there still arrives what fills the cable in both
// directions, what the peer sends until it obeys (pause quanta of IEEE 802.3 31B.3.7, 512 bit times each), one packet
// of the peer's that had begun and one of ours that holds the pause up; in cells, which small packets fill badly:
//   xoff = lossless MTU + (port MTU + 2 x length / v x rate + MAC and PHY delay + pause quanta x 64 bytes) x occupancy
//   xon  = what the pipeline holds;  size = xoff + xon;  each rounded up to 1,024 bytes
//   v    = 198,000 km/s, light in glass
//   occupancy = 1 - s + s x worst, s the part of packets that are small; worst = cell / 64 where a cell is larger than
//               two packets of 64 bytes, else 2 cell / (1 + cell)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/units.h"

namespace railweave::fabric {

struct SonicAsic {
  std::uint64_t memory_bytes = std::uint64_t{64} << 20U;  // that pools share
  unsigned cell_bytes = 144;
  unsigned port_mtu_bytes = 9100;
  unsigned lossless_mtu_bytes = 4200;  // of the lossless classes: RoCE's 4,096 and headers
  std::uint64_t pipeline_bytes = std::uint64_t{19} << 10U;
  std::uint64_t mac_phy_bytes = 1024;
  unsigned small_packets_percent = 100;
};

struct PfcHeadroom {
  std::uint64_t xon_bytes = 0, xoff_bytes = 0, size_bytes = 0;
  friend bool operator==(const PfcHeadroom&, const PfcHeadroom&) = default;
};

// A rate between those of the standard counts as the next faster one's, which obeys later. Errors, kind invalid, code
// "sonic.invalid": a faster rate than any whose pause quanta are known, a length that is none.
Result<PfcHeadroom> pfc_headroom(RateMbps rate, double cable_m, const SonicAsic& asic);

struct SonicCable {
  std::string port;  // "Ethernet0"
  RateMbps rate;
  double length_m = 0;
  // By number, as priority groups and as queues: never dropped, with headroom; dropped where memory is short. Lossy ones share
  // priority group 0, and groups that have lossless packets at other ports only have no headroom here.
  std::vector<unsigned> lossless, lossy, without_headroom;
};

struct SonicBuffers {
  SonicAsic asic;
  std::vector<SonicCable> cables;  // of every port of SonicQos, in their order
};

using SonicRow = std::vector<std::pair<std::string, std::string>>;  // fields and values
struct SonicTable {
  std::string name;
  std::vector<std::pair<std::string, SonicRow>> rows;
};

// BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG, BUFFER_QUEUE. Errors: as pfc_headroom(); impossible, code
// "sonic.bufferTooSmall", where headroom alone is more than the memory.
Result<std::vector<SonicTable>> sonic_buffer_tables(const SonicBuffers& buffers);

}  // namespace railweave::fabric
