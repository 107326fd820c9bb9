// Writes port tables by delta: reads what is there, writes the blocks that differ, reads them back. As many at once as
// the exchange allows; a device that does not answer is left out of the rest and does not delay the others.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "fabric/drivers/infiniband/device_jobs.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/port_table_blocks.h"

namespace railweave::fabric::infiniband {

struct PortTableWriterOptions {
  unsigned rewrites = 1;  // of a block that reads back differently
};

class PortTableWriter {
 public:
  PortTableWriter(MadExchange& exchange, SubnetMap& map, std::span<const PortTables> wanted,
                  const PortTableWriterOptions& options);
  Result<PortTablesReport> run();

 private:
  using Reply = const MadReply&;
  struct Port {
    PortPlace place;
    PortTableLimits limits;
  };
  struct Job {
    std::uint32_t port = 0;  // index of wanted
    TableBlock block;
    std::uint8_t writes = 0;
  };
  void examine();
  void plan(std::size_t index, const PortInfo& info);
  void begin(const Job& job);
  void took_present(const Job& job, Reply reply);
  void write(const Job& job, AttributeBytes present);
  void checked(const Job& job, Reply reply);
  void end(const Job& job, TableOutcome outcome, const std::string& reason = {});
  void ask(const Job& job, const Mad& mad, void (PortTableWriter::*then)(const Job&, Reply));
  void isolate(std::uint32_t node);
  [[nodiscard]] MadExchange::DeviceKey key(std::uint32_t node) const { return node + std::uint64_t{1}; }

  MadExchange& exchange_;
  SubnetMap& map_;
  std::span<const PortTables> wanted_;
  const PortTableWriterOptions options_;
  std::vector<Port> ports_;  // as wanted_
  DeviceJobs<Job> jobs_;
  std::unordered_set<std::uint32_t> isolated_;  // nodes
  PortTablesReport report_;
};

}  // namespace railweave::fabric::infiniband
