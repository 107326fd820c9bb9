// Whether OpenSM's tables are ours, in opensm mode. OpenSM is the subnet manager, with our engine inside: what it
// programs is what we want, and where a link fails we write the same entries before its sweep reaches them. Where its
// tables differ we write nothing: OpenSM decides. Of one accepted topology; used by the stepping thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "fabric/routing/delta/forwarding_delta.h"
#include "services/control/live/connection/subnet_inbox.h"
#include "services/control/live/links/subnet_context.h"
#include "services/control/live/links/subnet_links.h"

namespace railweave::control {

class OpensmMatch {
 public:
  OpensmMatch(const SubnetContext& context, const SubnetLinks& links) : context_(context), links_(links) {}

  [[nodiscard]] bool matches() const { return matches_; }
  // Whether tables as read are those wanted; what differs is shown in the status and by "sync.mismatch".
  bool compare(const fabric::Routing& applied, const fabric::Routing& wanted);
  // Keeps the entries as read, for LIDs that we do not route.
  void keep(std::vector<fabric::TableReading> readings);
  // What was read last, switch by switch; changes with version().
  [[nodiscard]] std::vector<fabric::TableReading> readings() const;
  [[nodiscard]] std::uint64_t version() const { return version_; }
  // Blocks hold LIDs that we do not route, switches' own among them: these entries stay as they were read, and blocks that
  // have others by now are not written. Blocks of switches that were not read are removed.
  void guard(fabric::ForwardingDelta& delta, const fabric::RoutingScope& scope) const;
  // What switches have after blocks were written, of those that took all of theirs.
  std::vector<fabric::TableReading> written(const fabric::ForwardingDelta& delta, const fabric::ProgramReport& report);
  // "opensm.absent" and "opensm.refused".
  void raise_alarms(const SubnetInbox::OpensmNews& news) const;

 private:
  [[nodiscard]] std::string find_other_lid(const fabric::RoutingScope& scope) const;

  const SubnetContext& context_;
  const SubnetLinks& links_;
  bool matches_ = false;
  std::uint64_t version_ = 0;
  std::map<fabric::SwitchId, std::vector<std::uint16_t>> read_;  // ports by LID
};

}  // namespace railweave::control
