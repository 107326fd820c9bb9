// The files through which OpenSM takes policy, written whole from plain values: which ports are in whose partition,
// which traffic gets which service level, how links share their lanes, which routing engine runs. Pure; OpenSM reads
// them when it starts and after SIGHUP.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/guid.h"
#include "fabric/base/units.h"

namespace railweave::fabric::opensm {

// PathRecord's code of the fastest standard rate that is not above the limit (InfiniBand Architecture Specification
// 1.7, 15.2.5.16). Error: below 2.5 Gb/s.
Result<std::uint8_t> rate_code(RateMbps limit);

// --- partitions.conf
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
  std::optional<unsigned> mtu;        // likewise: 256, 512, 1024, 2048 or 4096 bytes
  std::optional<std::uint8_t> level;  // service level of its groups, 0 to 15
  std::vector<PartitionMember> members;
};

inline constexpr std::uint16_t kDefaultPartition = 0x7fff;

// Where none has kDefaultPartition, one is written with the subnet manager as a full and everything else as a limited
// member: all reach the manager, nobody else. Errors: what breaks the rules above, names or keys used twice, a port
// twice in one partition.
Result<std::string> write_partitions(const std::vector<Partition>& partitions);

// --- opensm.conf
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

struct OpenSmOptions {
  std::vector<std::string> routing_engines;      // in order; "no_fallback" among them: no minhop where all fail
  std::string plugin_name;                       // event_plugin_name: "railweave_opensm" for lib<...>.so; empty: none
  std::string plugin_options;                    // event_plugin_options
  std::string partitions_file, qos_policy_file;  // absolute paths; empty: OpenSM's own
  std::optional<LaneSharing> sharing;            // of all ports; none: no QoS
  std::optional<LaneSharing> adapters, switches, routers;   // instead, where given
  std::vector<std::pair<std::string, std::string>> others;  // further options, as they are
};

// Errors: values that OpenSM's reader would cut or misread, lanes and weights out of range, an option given twice.
Result<std::string> write_opensm_options(const OpenSmOptions& options);

// --- qos-policy.conf
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

Result<std::string> write_qos_policy(const QosPolicy& policy);

}  // namespace railweave::fabric::opensm
