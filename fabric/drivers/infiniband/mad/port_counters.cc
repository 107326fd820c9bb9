#include "fabric/drivers/infiniband/mad/port_counters.h"

#include <span>

namespace railweave::fabric::infiniband {

namespace {

std::span<const std::uint8_t> performance_data(const Mad& mad) { return std::span(mad).subspan(kMadDataOffset); }

}  // namespace

PortCounters read_port_counters(const Mad& mad) {
  const auto data = performance_data(mad);
  PortCounters counters;
  counters.port = read_8(data, 1);
  counters.symbol_errors = read_16(data, 4);
  counters.link_recoveries = read_8(data, 6);
  counters.link_downed = read_8(data, 7);
  counters.receive_errors = read_16(data, 8);
  counters.remote_physical_errors = read_16(data, 10);
  counters.relay_errors = read_16(data, 12);
  counters.transmit_discards = read_16(data, 14);
  counters.transmit_constraint_errors = read_8(data, 16);
  counters.receive_constraint_errors = read_8(data, 17);
  counters.local_integrity_errors = read_bits(data, 19, 4, 4);
  counters.buffer_overruns = read_bits(data, 19, 0, 4);
  counters.vl15_dropped = read_16(data, 22);
  counters.transmit_words = read_32(data, 24);
  counters.receive_words = read_32(data, 28);
  counters.transmit_packets = read_32(data, 32);
  counters.receive_packets = read_32(data, 36);
  counters.transmit_wait = read_32(data, 40);
  return counters;
}

ExtendedPortCounters read_extended_port_counters(const Mad& mad) {
  const auto data = performance_data(mad);
  ExtendedPortCounters counters;
  counters.port = read_8(data, 1);
  counters.transmit_words = read_64(data, 8);
  counters.receive_words = read_64(data, 16);
  counters.transmit_packets = read_64(data, 24);
  counters.receive_packets = read_64(data, 32);
  counters.unicast_transmitted = read_64(data, 40);
  counters.unicast_received = read_64(data, 48);
  counters.multicast_transmitted = read_64(data, 56);
  counters.multicast_received = read_64(data, 64);
  return counters;
}

CounterAbilities read_counter_abilities(const Mad& mad) {
  const std::uint16_t mask = read_16(performance_data(mad), 2);
  constexpr unsigned kExtended = 3U << 9U, kTransmitWait = 1U << 12U;
  return {.extended = (mask & kExtended) != 0, .transmit_wait = (mask & kTransmitWait) != 0};
}

Mad counters_request(Attribute attribute, std::uint8_t port) {
  Mad mad{};
  write_header(mad, {.management_class = MadClass::performance,
                     .method = MadMethod::get,
                     .status = 0,
                     .transaction = 0,
                     .attribute = attribute,
                     .modifier = 0});
  if (attribute != Attribute::classPortInfo) mad[kMadDataOffset + 1] = port;
  return mad;
}

}  // namespace railweave::fabric::infiniband
