// What OpenSM can be told about partitions, lanes and service levels. Plain values: plans are made of them, and
// fabric/drivers/opensm/files writes them as OpenSM reads them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabric/base/guid.h"
#include "fabric/base/units.h"

namespace railweave::fabric::opensm {

struct PartitionMember {
  enum class Who : std::uint8_t { port, all, all_adapters, subnet_manager };
  Who who = Who::port;
  Guid port;         // of Who::port: port GUID
  bool full = true;  // limited members reach full ones only
};

struct Partition {
  std::string name;                   // 1 to 31 letters, digits, '_', '-' and '.'
  std::uint16_t pkey = 0;             // 1 to 0x7fff, without the membership bit; 0x7fff is the default partition
  bool ipoib = false;                 // makes the broadcast group of IP over InfiniBand
  std::optional<RateMbps> rate;       // of that group
  std::optional<unsigned> mtu;        // of that group: 256, 512, 1024, 2048 or 4096 bytes
  std::optional<std::uint8_t> level;  // service level of its groups, 0 to 15
  std::vector<PartitionMember> members;
};

inline constexpr std::uint16_t kDefaultPartition = 0x7fff;

struct LaneWeight {
  std::uint8_t lane = 0;    // 0 to 14
  std::uint8_t weight = 0;  // in 64 bytes; 0: none
};

struct LaneSharing {
  std::uint8_t max_lanes = 8;         // data lanes: 1, 2, 4, 8 or 15
  std::uint8_t high_limit = 0;        // of the high-priority table in turn, in 4096 bytes; 0: one packet, 255: no limit
  std::vector<LaneWeight> high, low;  // at most 64 each
  std::array<std::uint8_t, 16> lane_of_level{};  // 15: packets of that level are dropped
};

struct QosLevel {
  std::string name;        // as of partitions; one is called DEFAULT
  std::uint8_t level = 0;  // service level, 0 to 15
  std::optional<RateMbps> rate_limit;
  std::optional<unsigned> mtu_limit;  // bytes
};

struct QosRule {           // the first that matches counts
  std::string use;         // a remark: 1 to 60 printable characters
  std::uint16_t pkey = 0;  // 1 to 0x7fff
  std::string level;       // the name of a QosLevel
};

struct QosPolicy {
  std::uint8_t default_level = 0;                             // of what no rule names
  std::vector<std::pair<std::uint16_t, std::uint8_t>> pkeys;  // the simple form: partition key -> service level
  std::vector<QosLevel> levels;
  std::vector<QosRule> rules;
};

}  // namespace railweave::fabric::opensm
