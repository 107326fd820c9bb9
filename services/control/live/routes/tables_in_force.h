// Tells the control loop whose forwarding tables a subnet has in force, so that all that is computed of routes is computed
// of what switches hold. Tables that are not the wanted ones are published (views/seen_tables.h) before they are reported.
// It is about one accepted topology, and used by the stepping thread.
#pragma once

#include <cstdint>
#include <string>

#include "services/control/live/links/subnet_context.h"
#include "services/control/live/links/subnet_links.h"

namespace railweave::control {

// What is known of the tables of a subnet.
struct KnownTables {
  bool are_wanted = false;                   // those read are those that Railweave computes
  const fabric::Routing* routing = nullptr;  // as read, in the numbers of the service's own routes; null: not known
  std::uint64_t unread = 0;                  // switches that are there and whose tables are not known
  std::uint64_t lost_pairs = 0;              // that cables connect, by the last walk over them
  std::string reason;                        // why they are not the wanted ones, or not known
  std::string levels;                        // as SubnetTables has them: those of the routing's lanes
};

class TablesInForce {
 public:
  TablesInForce(const SubnetContext& context, const SubnetLinks& links) : context_(context), links_(links) {}

  void report(const ClusterState& state, KnownTables known);
  // Tables that were seen before stay the best that is known. levels: as of KnownTables.
  void report_unknown(const ClusterState& state, const std::string& reason, const std::string& levels);

 private:
  void say(const ClusterState& state, SubnetTables tables);

  const SubnetContext& context_;
  const SubnetLinks& links_;
  fabric::ForwardingTables published_;
  fabric::Lanes published_lanes_;
  std::string digest_;  // of published_; "": nothing was published
  SubnetTables said_;
  std::int64_t said_us_ = 0;  // monotonic; 0: nothing was said
};

}  // namespace railweave::control
