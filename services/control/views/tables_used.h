// Whose forwarding tables an answer about routes rests on, subnet by subnet.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "services/control/views/routing_cache.h"

namespace railweave::control {

struct TablesUsed {
  std::string subnet;
  bool is_live = false;  // it has reported tables; else nothing was ever read from its switches
  TablesSource source = TablesSource::wanted;
  std::string reason;            // SubnetTables::reason
  std::uint64_t lost_pairs = 0;  // SubnetTables::lost_pairs
  std::uint64_t unread = 0;      // switches that are there and whose tables are not known
  std::int64_t since_us = 0;     // that these are in force; 0: not live
  std::int64_t seen_us = 0;      // the switch that was not asked for longest; 0: none was asked by this process
  [[nodiscard]] bool are_known() const { return is_live && source != TablesSource::unknown && unread == 0; }
};

// As the subnet reported it; null: it is not live, or has not.
TablesUsed tables_used(const std::string& subnet, const SubnetTables* reported);

// Of these subnets; empty: of all that have switches. routes: those that the answer was computed on. Where tables were
// seen that this process does not have, they are unknown here. Without seen_us, which live subnets know.
std::vector<TablesUsed> tables_used(const ClusterState& state, const FabricRoutes& routes,
                                    const std::set<std::string>& subnets = {});

}  // namespace railweave::control
