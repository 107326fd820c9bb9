// Where two tables lead packets by other entries, and whose packets those are. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "fabric/base/id.h"
#include "fabric/routing/plane/forwarding_tables.h"
#include "services/control/state/job.h"

namespace railweave::control {

std::set<fabric::HostId> hosts_of(const fabric::Topology& topology, const Job& job);

// Two tables of one scope, which outlive it.
class ChangedPaths {
 public:
  ChangedPaths(const fabric::ForwardingTables& before, const fabric::ForwardingTables& after);

  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  [[nodiscard]] std::uint64_t switches() const { return switches_; }  // with changed entries
  // Whether packets between ports of these hosts meet an entry that changes.
  [[nodiscard]] bool concern(const std::set<fabric::HostId>& hosts) const;

 private:
  [[nodiscard]] bool meets_change(fabric::SwitchId from, fabric::DestinationId to) const;

  const fabric::ForwardingTables& before_;
  const fabric::ForwardingTables& after_;
  std::vector<bool> destinations_;  // with changed entries
  std::uint64_t entries_ = 0, switches_ = 0;
};

}  // namespace railweave::control
