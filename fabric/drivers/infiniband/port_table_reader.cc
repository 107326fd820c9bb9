#include "fabric/drivers/infiniband/port_table_reader.h"

#include <algorithm>
#include <utility>

namespace railweave::fabric::infiniband {

Result<std::vector<PortTablesReading>> PortTableReader::run() {
  for (std::size_t i = 0; i < refs_.size(); ++i) ask_info(i);
  if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
  jobs_.start([this](std::uint32_t node, const Job& job) {
    exchange_.submit(node + std::uint64_t{1}, MadAddress::directed(), get_block(ports_[job.port].place, job.block),
                     [this, node, job](const MadReply& reply) {
                       if (reply.ok()) {
                         take(job, attribute_bytes(*reply.mad));
                       } else {
                         failed(job.port, to_string(job.block), reply);
                       }
                       jobs_.finished(node);
                     });
  });
  if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
  for (auto& reading : readings_) trim(reading);
  return std::move(readings_);
}

void PortTableReader::ask_info(std::size_t index) {
  readings_[index].tables.port = refs_[index];
  const auto place = find_port(map_, refs_[index]);
  if (!place) {
    readings_[index].reason = place.error();
    return;
  }
  ports_[index].place = *place;
  ports_[index].limits = limits_of(map_, *place);
  exchange_.submit(place->node + std::uint64_t{1}, MadAddress::directed(),
                   directed_smp(place->route, MadMethod::get, Attribute::portInfo, place->port),
                   [this, index](const MadReply& reply) {
                     if (!reply.ok()) return failed(index, "PortInfo", reply);
                     plan(index, read_port_info(attribute_bytes(*reply.mad)));
                   });
}

void PortTableReader::plan(std::size_t index, const PortInfo& info) {
  Port& port = ports_[index];
  add_lane_limits(port.limits, map_, port.place, info);
  PortTables& tables = readings_[index].tables;
  readings_[index].answered = true;
  if (port.limits.pkeys > 0) tables.pkeys.emplace(port.limits.pkeys);
  if (port.limits.data_vls > 1) {
    tables.sl_to_vl.emplace();
    VlArbitration& arbitration = tables.arbitration.emplace();
    arbitration.high.resize(port.limits.high_entries);
    arbitration.low.resize(port.limits.low_entries);
  }
  for (const TableBlock& block : blocks_of(tables, port.limits, map_, port.place)) {
    jobs_.add(port.place.node, {static_cast<std::uint32_t>(index), block});
  }
  if (tables.arbitration) tables.arbitration->high_limit = info.high_limit;
}

void PortTableReader::take(const Job& job, AttributeBytes data) {
  PortTablesReading& reading = readings_[job.port];
  switch (job.block.kind) {
    case TableKind::slToVl: {
      reading.lane_maps[static_cast<std::uint8_t>(job.block.number)] = read_sl_to_vl(data);
      break;
    }
    case TableKind::arbitrationHigh:
    case TableKind::arbitrationLow: {
      auto& entries = job.block.kind == TableKind::arbitrationHigh ? reading.tables.arbitration->high
                                                                   : reading.tables.arbitration->low;
      const ArbitrationBlock block = read_arbitration(data);
      const std::size_t first = job.block.number * kArbitrationBlockEntries;
      for (std::size_t i = 0; i < block.size() && first + i < entries.size(); ++i) {
        entries[first + i] = {block[i].vl, block[i].weight};
      }
      break;
    }
    case TableKind::pkeys: {
      auto& pkeys = *reading.tables.pkeys;
      const PKeyBlock block = read_pkey_block(data);
      const std::size_t first = job.block.number * kPKeyBlockEntries;
      for (std::size_t i = 0; i < block.size() && first + i < pkeys.size(); ++i) pkeys[first + i] = block[i];
      break;
    }
    case TableKind::highLimit:
      break;
  }
}

void PortTableReader::failed(std::size_t index, const std::string& what, const MadReply& reply) {
  readings_[index].answered = false;
  if (!readings_[index].reason.empty()) return;
  readings_[index].reason =
      reply.silent() ? std::string("does not answer") : "refused " + what + ": " + status_text(reply.status);
}

void PortTableReader::trim(PortTablesReading& reading) const {
  if (!reading.lane_maps.empty()) reading.tables.sl_to_vl = reading.lane_maps.begin()->second;
  if (auto& pkeys = reading.tables.pkeys) {
    while (!pkeys->empty() && pkeys->back() == 0) pkeys->pop_back();
  }
  if (auto& arbitration = reading.tables.arbitration) {
    for (auto* entries : {&arbitration->high, &arbitration->low}) {
      while (!entries->empty() && entries->back().weight == 0) entries->pop_back();
    }
  }
}

}  // namespace railweave::fabric::infiniband
