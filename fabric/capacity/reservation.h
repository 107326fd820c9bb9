// What a job is promised on the network in one class, and the load that this reserves on every link. Immutable once in
// a ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/pattern_load.h"

namespace railweave::fabric {

enum class TrafficPromise : std::uint8_t {
  hose,     // any traffic among the ports within each port's rates
  pattern,  // the flows listed
};
BOOST_DESCRIBE_ENUM(TrafficPromise, hose, pattern)

struct Reservation {
  std::string job, tenant;
  std::uint8_t qos_class = 0;  // of the QosPlan; a job has at most one reservation per class
  TrafficPromise promise = TrafficPromise::hose;
  std::vector<HosePort> ports;     // of a hose
  std::vector<PatternFlow> flows;  // of a pattern
  bool survives_link_failure = false;
  std::uint32_t reserved_permille = 1000;  // of the load; less is over-commitment: no guarantee under full load
  std::uint64_t order = 0;                 // of admission: the earlier keeps its guarantee when not all fit
  // A lane of its own on every link of the loads, which no other job has on any of them (lane_owners.h).
  std::optional<std::uint8_t> lane;
  LoadVector loads;
};

using ReservationPtr = std::shared_ptr<const Reservation>;

}  // namespace railweave::fabric
