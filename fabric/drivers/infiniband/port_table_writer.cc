#include "fabric/drivers/infiniband/port_table_writer.h"

#include <set>
#include <utility>

namespace railweave::fabric::infiniband {

namespace {

constexpr const char* kNoAnswer = "does not answer";

}  // namespace

PortTableWriter::PortTableWriter(MadExchange& exchange, SubnetMap& map, std::span<const PortTables> wanted,
                                 const PortTableWriterOptions& options)
    : exchange_(exchange), map_(map), wanted_(wanted), options_(options), ports_(wanted.size()) {
  report_.ports.resize(wanted.size());
}

Result<PortTablesReport> PortTableWriter::run() {
  const std::uint64_t before = exchange_.counts().sent;
  examine();
  if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
  jobs_.start([this](std::uint32_t, const Job& job) { begin(job); });
  if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
  report_.asked = exchange_.counts().sent - before;
  return std::move(report_);
}

// First the rules that need no answer of the port; then its PortInfo, for its lanes.
void PortTableWriter::examine() {
  std::set<PortRef> seen;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const PortTables& tables = wanted_[i];
    PortTablesOutcome& outcome = report_.ports[i];
    outcome.port = tables.port;
    const auto place = find_port(map_, tables.port);
    if (!place) {
      note_all(outcome, tables, TableOutcome::silent, place.error());
      continue;
    }
    ports_[i] = {*place, limits_of(map_, *place)};
    if (!seen.insert(tables.port).second) {
      note_all(outcome, tables, TableOutcome::invalid, "is given twice");
      continue;
    }
    if (const auto fault = pkey_fault(tables, ports_[i].limits); !fault.empty()) {
      note_outcome(outcome, TableKind::pkeys, TableOutcome::invalid, fault);
    }
    const Mad get = directed_smp(place->route, MadMethod::get, Attribute::portInfo, place->port);
    exchange_.submit(key(place->node), MadAddress::directed(), get, [this, i](Reply reply) {
      if (reply.ok()) return plan(i, read_port_info(attribute_bytes(*reply.mad)));
      if (reply.silent()) isolate(ports_[i].place.node);
      note_all(report_.ports[i], wanted_[i], reply.silent() ? TableOutcome::silent : TableOutcome::refused,
               reply.silent() ? kNoAnswer : "refused PortInfo: " + status_text(reply.status));
    });
  }
}

void PortTableWriter::plan(std::size_t index, const PortInfo& info) {
  Port& port = ports_[index];
  add_lane_limits(port.limits, map_, port.place, info);
  PortTablesOutcome& outcome = report_.ports[index];
  PortTables lanes = wanted_[index];
  lanes.pkeys.reset();
  if (const auto fault = lane_fault(lanes, port.limits); !fault.empty()) {
    note_all(outcome, lanes, TableOutcome::invalid, fault);
  }
  for (const TableBlock& block : blocks_of(wanted_[index], port.limits, map_, port.place)) {
    if (outcome_of(outcome, block.kind) == TableOutcome::invalid) continue;
    jobs_.add(port.place.node, {static_cast<std::uint32_t>(index), block, 0});
  }
}

void PortTableWriter::ask(const Job& job, const Mad& mad, void (PortTableWriter::*then)(const Job&, Reply)) {
  exchange_.submit(key(ports_[job.port].place.node), MadAddress::directed(), mad,
                   [this, job, then](Reply reply) { (this->*then)(job, reply); });
}

void PortTableWriter::begin(const Job& job) {
  ask(job, get_block(ports_[job.port].place, job.block), &PortTableWriter::took_present);
}

void PortTableWriter::took_present(const Job& job, Reply reply) {
  if (reply.silent()) return end(job, TableOutcome::silent, kNoAnswer);
  if (!reply.ok()) {
    return end(job, TableOutcome::refused, "refused " + to_string(job.block) + ": " + status_text(reply.status));
  }
  const auto& limits = ports_[job.port].limits;
  if (normal_form(job.block, limits, attribute_bytes(*reply.mad)) ==
      wanted_form(job.block, limits, wanted_[job.port])) {
    return end(job, TableOutcome::unchanged);
  }
  // After a block was refused, the others of its table would be, too; half a table is worse than none.
  const TableOutcome had = outcome_of(report_.ports[job.port], job.block.kind);
  if (had == TableOutcome::refused) return end(job, had);
  ++report_.written;
  write(job, attribute_bytes(*reply.mad));
}

void PortTableWriter::write(const Job& job, AttributeBytes present) {
  const Port& port = ports_[job.port];
  Job written = job;
  ++written.writes;
  exchange_.submit(key(port.place.node), MadAddress::directed(),
                   set_block(port.place, job.block, port.limits, wanted_[job.port], present),
                   [this, written](Reply reply) {
                     if (reply.silent()) return end(written, TableOutcome::silent, kNoAnswer);
                     if (!reply.ok()) {
                       return end(written, TableOutcome::refused,
                                  "refused " + to_string(written.block) + ": " + status_text(reply.status));
                     }
                     ask(written, get_block(ports_[written.port].place, written.block), &PortTableWriter::checked);
                   });
}

void PortTableWriter::checked(const Job& job, Reply reply) {
  if (!reply.ok()) return end(job, TableOutcome::silent, kNoAnswer);
  const auto& limits = ports_[job.port].limits;
  if (normal_form(job.block, limits, attribute_bytes(*reply.mad)) ==
      wanted_form(job.block, limits, wanted_[job.port])) {
    return end(job, TableOutcome::applied);
  }
  if (job.block.kind == TableKind::highLimit) {
    return end(job, TableOutcome::notKept, "VLHighLimit is accepted and not kept");
  }
  if (job.writes <= options_.rewrites) return write(job, attribute_bytes(*reply.mad));
  end(job, TableOutcome::mismatch, to_string(job.block) + " reads back differently");
}

void PortTableWriter::end(const Job& job, TableOutcome outcome, const std::string& reason) {
  const std::uint32_t node = ports_[job.port].place.node;
  note_outcome(report_.ports[job.port], job.block.kind, outcome, reason);
  if (outcome == TableOutcome::silent) isolate(node);
  jobs_.finished(node);
}

void PortTableWriter::isolate(std::uint32_t node) {
  if (isolated_.insert(node).second) report_.isolated.push_back({map_.nodes[node].guid(), kNoAnswer});
}

}  // namespace railweave::fabric::infiniband
