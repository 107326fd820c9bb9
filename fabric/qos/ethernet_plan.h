// Classes and jobs' own lanes on the ports of an Ethernet switch: what each queue is promised, and with which DSCPs packets
// may come in from a host. Pure; fabric/formats/sonic and fabric/drivers/linux_tc write it for switches.
//
// A switch has eight traffic classes. Classes of traffic have the first (class_number()), congestion notifications (CNP) one
// where no class has their DSCP, and jobs may have the others of their own (Reservation::lane), each with a DSCP of the pool
// for local use (xxxx11 in binary, RFC 2474, section 6) that no class has. A port promises a lane what its owner has reserved
// there, and the owner's class that much less. A host may send with a lane's DSCP only where a job of its own has that lane,
// and only to the ports of that job: its leaf re-marks other packets to DSCP 0.
//
// A class that is lossless is paused (PFC) before its packets are lost. Switches have memory for two such classes, those of the
// largest shares, and for the lanes of jobs whose class is lossless, on the ports that their packets pass.
//
// All of it holds for the routes that Railweave computes, one for each destination: switches that hash flows onto several
// links carry them elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/capacity/ledger.h"
#include "fabric/qos/qos_class.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

inline constexpr unsigned kTrafficClasses = 8;
inline constexpr std::uint8_t kCongestionDscp = 48;  // of RoCE's congestion notifications

inline constexpr std::size_t kMaxLosslessClasses = 2;

// The classes that switches pause, by descending shares: at most kMaxLosslessClasses, never the one of notifications, whose
// packets must not wait for what they are about, nor the lowest, which shares its memory with all that nothing marks.
std::vector<std::size_t> lossless_on_ethernet(const QosClasses& classes);

// The number of lanes that jobs may have of their own on Ethernet beside these classes.
unsigned ethernet_lanes(const QosClasses& classes);
// Preconditions: lane < kTrafficClasses.
std::uint8_t lane_dscp(const QosClasses& classes, unsigned lane);
std::uint8_t lane_traffic_class(const QosClasses& classes, unsigned lane);

struct EthernetQueue {
  std::uint8_t qos_class = 0;        // of the owner, where it is a lane
  std::optional<std::uint8_t> lane;  // of a job's own; none: the class
  std::string job;                   // the owner; "" for classes
  std::uint8_t dscp = 0, traffic_class = 0;
  RateMbps rate;  // on the wire, always got; the sum of a port's is at most its link's rate
  bool lossless = false;
};

// A lane whose packets come in at a port.
struct ArrivingLane {
  std::uint8_t lane = 0, traffic_class = 0;
  bool lossless = false;
};

// Packets that a host may send with a lane's DSCP.
struct AdmittedMark {
  std::uint8_t dscp = 0;
  std::string job;
  std::vector<PortId> destinations;  // ascending
};

struct EthernetPort {
  PortId port;
  RateMbps link;                       // nominal
  double cable_m = 0;                  // 0: not known
  bool in_use = true;                  // its link is up and not drained
  bool faces_host = false;             // an adapter is on the other end: marks are filtered
  std::vector<EthernetQueue> queues;   // classes in their order, then lanes; the lowest class takes all other DSCPs
  std::vector<ArrivingLane> arriving;  // by lane
  std::vector<AdmittedMark> admitted;  // by DSCP; of a port that faces a host
};

struct EthernetPlan {
  std::vector<std::uint8_t> lane_dscps;  // of every lane that a job could have
  std::vector<EthernetPort> ports;       // cabled Ethernet ports of the switch
};

// The ledger has the classes' capacity rules.
EthernetPlan plan_ethernet(const QosClasses& classes, const Ledger& ledger, const FabricView& view, SwitchId sw);

}  // namespace railweave::fabric
