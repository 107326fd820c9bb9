// What a subnet that is managed from here tells its clients, beside what was found of it, and how often it was asked. Plain
// values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "fabric/qos/partition_service.h"
#include "fabric/qos/port_tables.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

struct AdministrationBasis {
  const Routing& routing;                                 // that switches hold
  std::vector<PartitionService> partitions;               // others get service level 0 and no limit
  std::shared_ptr<const std::vector<PortTables>> tables;  // of ports as they are to be; null: as devices came
  // Links that are up and are to carry no transit, as they are drained or flap: multicast takes them only where nothing else leads to a
  // member. Of the routing's topology.
  std::vector<LinkId> avoided{};
};

struct AdministrationReport {
  std::size_t end_ports = 0, devices = 0;
  std::size_t announced = 0;  // adapters' ports that were told to ask again
  std::size_t failed = 0;     // that did not take it; they are told again with the next call
};

// What was done so that switches hand on what is sent to multicast groups.
struct MulticastReport {
  std::size_t groups = 0, members = 0;  // members: of all groups
  std::size_t unreachable = 0;          // members that no switch leads to
  std::size_t unproven = 0;             // groups that are not led, as packets of their level could wait in a circle
  std::size_t left_out = 0;             // switches that only cables join over which packets could
  std::size_t blocks = 0;               // of switches' tables that were changed
  std::size_t failed = 0;               // blocks that switches did not take; they are written again with the next call
  std::uint64_t revision = 0;           // of what is in switches now (AdministrationCounts)
};

// What clients ask for; the last stands for all that has no record here. Names as in the specification.
inline constexpr std::array<std::string_view, 19> kAskedAttributes = {"ClassPortInfo",
                                                                      "InformInfo",
                                                                      "NodeRecord",
                                                                      "PortInfoRecord",
                                                                      "SLtoVLMappingTableRecord",
                                                                      "SwitchInfoRecord",
                                                                      "LinearForwardingTableRecord",
                                                                      "MulticastForwardingTableRecord",
                                                                      "SMInfoRecord",
                                                                      "InformInfoRecord",
                                                                      "LinkRecord",
                                                                      "GUIDInfoRecord",
                                                                      "ServiceRecord",
                                                                      "P_KeyTableRecord",
                                                                      "PathRecord",
                                                                      "VLArbitrationTableRecord",
                                                                      "MCMemberRecord",
                                                                      "MultiPathRecord",
                                                                      "other"};

// Each is one of:
struct AskedCounts {
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;      // with a status
  std::uint64_t unsupported = 0;  // with the status that there is no such attribute, method or version
};

// Since the connection was opened.
struct AdministrationCounts {
  std::array<AskedCounts, kAskedAttributes.size()> asked{};  // without what was dropped
  std::uint64_t requests = 0;
  std::uint64_t answered = 0, refused = 0;   // refused: with a status that is not 0
  std::uint64_t dropped = 0;                 // no requests, or nothing that may be answered now
  std::uint64_t wrong_keys = 0;              // of those dropped
  std::uint64_t records = 0;                 // in answers
  std::uint64_t segments = 0, repeated = 0;  // datagrams of tables
  std::uint64_t given_up = 0;                // tables whose receiver fell silent
  std::uint64_t send_errors = 0;
  std::uint64_t subscriptions = 0;  // to notices, now
  std::uint64_t traps = 0;          // of devices, to be forwarded to those who subscribed
  std::uint64_t reports = 0;        // of notices to subscribers
  std::uint64_t reports_repeated = 0, reports_answered = 0, reports_given_up = 0;
  std::uint64_t multicast_revision = 0;  // another one whenever groups or their members change
};

}  // namespace railweave::fabric
