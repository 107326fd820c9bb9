// Reads port tables, everything a port has of them.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "fabric/drivers/infiniband/device_jobs.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/port_table_blocks.h"

namespace railweave::fabric::infiniband {

class PortTableReader {
 public:
  PortTableReader(MadExchange& exchange, const SubnetMap& map, std::span<const PortRef> ports)
      : exchange_(exchange), map_(map), refs_(ports), ports_(ports.size()), readings_(ports.size()) {}
  Result<std::vector<PortTablesReading>> run();

 private:
  struct Port {
    PortPlace place;
    PortTableLimits limits;
  };
  struct Job {
    std::uint32_t port = 0;
    TableBlock block;
  };
  void ask_info(std::size_t index);
  void plan(std::size_t index, const PortInfo& info);
  void take(const Job& job, AttributeBytes data);
  void failed(std::size_t index, const std::string& what, const MadReply& reply);
  void trim(PortTablesReading& reading) const;

  MadExchange& exchange_;
  const SubnetMap& map_;
  std::span<const PortRef> refs_;
  std::vector<Port> ports_;
  std::vector<PortTablesReading> readings_;
  DeviceJobs<Job> jobs_;
};

}  // namespace railweave::fabric::infiniband
