#include "fabric/drivers/infiniband/counter_reader.h"

#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>

namespace railweave::fabric::infiniband {

namespace {

// Ports that were handed to the exchange; many more than one silent switch has.
constexpr std::size_t kPortsAtOnce = 4096;

void take_port_counters(const PortCounters& from, const CounterAbilities& abilities, PortCounts& to) {
  to[ErrorCounter::symbol_errors] = from.symbol_errors;
  to[ErrorCounter::link_recoveries] = from.link_recoveries;
  to[ErrorCounter::link_downed] = from.link_downed;
  to[ErrorCounter::receive_errors] = from.receive_errors;
  to[ErrorCounter::transmit_discards] = from.transmit_discards;
  to[ErrorCounter::vl15_dropped] = from.vl15_dropped;
  to.wait_known = abilities.transmit_wait;
  to.transmit_wait = abilities.transmit_wait ? from.transmit_wait : 0;
  to.wide = false;
  to.transmit_bytes = std::uint64_t{from.transmit_words} * 4;
  to.receive_bytes = std::uint64_t{from.receive_words} * 4;
  to.transmit_packets = from.transmit_packets;
  to.receive_packets = from.receive_packets;
}

std::int64_t in_us(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count();
}

}  // namespace

Result<std::vector<CounterReading>> CounterReader::read(std::span<const PortRef> ports) {
  exchange_.limit_rate(options_.mads_per_second);
  auto ran = run(ports);
  exchange_.limit_rate(0);
  if (!ran) return std::unexpected(ran.error());
  return std::move(readings_);
}

Result<void> CounterReader::run(std::span<const PortRef> ports) {
  places_.assign(ports.size(), {});
  readings_.assign(ports.size(), {});
  for (std::size_t i = 0; i < ports.size(); ++i) find(ports[i], i);
  ask_abilities();
  if (auto ran = exchange_.run(); !ran) return ran;
  next_ = 0;
  for (std::size_t i = 0; i < kPortsAtOnce; ++i) begin_next();
  return exchange_.run();
}

void CounterReader::find(PortRef port, std::size_t index) {
  CounterReading& reading = readings_[index];
  reading.port = port;
  const SubnetNode* node = map_.find(port.device);
  if (node == nullptr) {
    reading.reason = "is not in the subnet";
    return;
  }
  // Port 0 of a base switch has no counters; some answer with zeros.
  if (port.port >= node->ports.size() || (port.port == 0 && !node->switch_info.enhanced_port_zero)) {
    reading.reason = "has no such port";
    return;
  }
  const Lid lid = node->is_switch() || port.port == 0 ? node->lid() : node->ports[port.port].info.lid;
  if (lid == 0) {
    reading.reason = "has no LID";
    return;
  }
  places_[index] = {map_.by_guid.at(port.device), lid};
}

void CounterReader::ask_abilities() {
  std::unordered_set<std::uint32_t> asked;
  for (const Place& place : places_) {
    if (place.node == kNoNode) continue;
    const Guid guid = map_.nodes[place.node].guid();
    if (abilities_.contains(guid) || !asked.insert(place.node).second) continue;
    exchange_.submit(place.node + std::uint64_t{1}, MadAddress::to(place.lid),
                     counters_request(Attribute::classPortInfo, 0), [this, guid](const MadReply& reply) {
                       // A device that refuses this has PortCounters, which are mandatory, and nothing more.
                       if (!reply.silent()) {
                         abilities_[guid] = reply.ok() ? read_counter_abilities(*reply.mad) : CounterAbilities{};
                       }
                     });
  }
}

void CounterReader::begin_next() {
  while (next_ < places_.size() && places_[next_].node == kNoNode) ++next_;
  if (next_ == places_.size()) return;
  const std::size_t i = next_++;
  exchange_.submit(places_[i].node + std::uint64_t{1}, MadAddress::to(places_[i].lid),
                   counters_request(Attribute::portCounters, readings_[i].port.port), [this, i](const MadReply& reply) {
                     if (!reply.ok()) return failed(i, "PortCounters", reply);
                     const CounterAbilities abilities = abilities_[readings_[i].port.device];
                     take_port_counters(read_port_counters(*reply.mad), abilities, readings_[i].counts);
                     readings_[i].at_us = in_us(exchange_.port().now());
                     if (abilities.extended) return ask_traffic(i);
                     readings_[i].answered = true;
                     begin_next();
                   });
}

void CounterReader::ask_traffic(std::size_t index) {
  exchange_.submit(places_[index].node + std::uint64_t{1}, MadAddress::to(places_[index].lid),
                   counters_request(Attribute::portCountersExtended, readings_[index].port.port),
                   [this, index](const MadReply& reply) {
                     if (!reply.ok()) return failed(index, "PortCountersExtended", reply);
                     const ExtendedPortCounters traffic = read_extended_port_counters(*reply.mad);
                     CounterReading& reading = readings_[index];
                     reading.counts.wide = true;
                     reading.counts.transmit_bytes = traffic.transmit_words * 4;
                     reading.counts.receive_bytes = traffic.receive_words * 4;
                     reading.counts.transmit_packets = traffic.transmit_packets;
                     reading.counts.receive_packets = traffic.receive_packets;
                     reading.at_us = in_us(exchange_.port().now());
                     reading.answered = true;
                     begin_next();
                   });
}

void CounterReader::failed(std::size_t index, const char* what, const MadReply& reply) {
  readings_[index].reason =
      reply.silent() ? std::string("does not answer") : fmt::format("refused {}: {}", what, status_text(reply.status));
  begin_next();
}

}  // namespace railweave::fabric::infiniband
