// Traffic and errors of one port: PortCounters (IBA 16.1.3.5) and PortCountersExtended (16.1.4.11). Data counters are
// in units of 4 bytes.
#pragma once

#include <cstdint>

#include "fabric/drivers/infiniband/mad/mad.h"

namespace railweave::fabric::infiniband {

// 32 bits and fewer; stay at their highest value until they are reset.
struct PortCounters {
  std::uint8_t port = 0;
  std::uint16_t symbol_errors = 0;
  std::uint8_t link_recoveries = 0, link_downed = 0;
  std::uint16_t receive_errors = 0, remote_physical_errors = 0, relay_errors = 0, transmit_discards = 0;
  std::uint8_t transmit_constraint_errors = 0, receive_constraint_errors = 0;
  std::uint8_t local_integrity_errors = 0, buffer_overruns = 0;
  std::uint16_t vl15_dropped = 0;
  std::uint32_t transmit_words = 0, receive_words = 0, transmit_packets = 0, receive_packets = 0, transmit_wait = 0;
};

// 64 bits; wrap.
struct ExtendedPortCounters {
  std::uint8_t port = 0;
  std::uint64_t transmit_words = 0, receive_words = 0, transmit_packets = 0, receive_packets = 0;
  std::uint64_t unicast_transmitted = 0, unicast_received = 0, multicast_transmitted = 0, multicast_received = 0;
};

// What a node's performance management can do: CapabilityMask of ClassPortInfo (16.1.3.1).
struct CounterAbilities {
  bool extended = false;       // PortCountersExtended, with or without the counts of unicast and multicast packets
  bool transmit_wait = false;  // PortCounters has it
};

PortCounters read_port_counters(const Mad& mad);
ExtendedPortCounters read_extended_port_counters(const Mad& mad);

CounterAbilities read_counter_abilities(const Mad& mad);

// Get for one port of the node it is sent to. Either attribute; for ClassPortInfo the port is ignored.
Mad counters_request(Attribute attribute, std::uint8_t port);

}  // namespace railweave::fabric::infiniband
