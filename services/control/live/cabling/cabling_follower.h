// Puts the accepted topology in force as it is cabled, once an exchange of cables has settled: seen the same by every sweep
// for a while, so that one that is under way does not count. The same for devices that were exchanged and hosts that were moved,
// where the subnet's policy accepts them. At most kMaxImports in kWindowUs. Used by the stepping thread; the fabric is made by
// another where the policy says so.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "fabric/base/worker/computation.h"
#include "services/control/events/command.h"
#include "services/control/live/cabling/exchanged_cables.h"
#include "services/control/live/cabling/found_changes.h"
#include "services/control/live/links/subnet_context.h"
#include "services/control/live/status/fabric_as_found.h"

namespace railweave::control {

class CablingFollower {
 public:
  static constexpr unsigned kSightings = 3;
  static constexpr std::size_t kMaxImports = 6;
  static constexpr std::int64_t kWindowUs = 600'000'000;

  explicit CablingFollower(const SubnetContext& context) : context_(context), made_(context.options.audits) {}

  // After each sweep that saw the whole subnet. links: of the state's topology.
  void saw(const ClusterState& state, const SubnetLinks& links);
  // Reports the fabric as cabled once it is made.
  void report_made();

 private:
  [[nodiscard]] bool has_settled(std::int64_t now_us) const;
  [[nodiscard]] bool may_import(std::int64_t now_us);

  const SubnetContext& context_;
  std::uint64_t version_ = 0;  // of the topology that found_ is about
  struct Found {
    std::vector<fabric::Recabling> cables;
    std::vector<FoundChange> changes;  // that the policy accepts
    [[nodiscard]] bool empty() const { return cables.empty() && changes.empty(); }
    friend bool operator==(const Found&, const Found&) = default;
  };
  [[nodiscard]] std::vector<FoundChange> acceptable(const ClusterState& state) const;

  Found found_;                           // by the last sweep
  std::int64_t since_us_ = 0;             // when it was found first
  unsigned sightings_ = 0;                // since then
  std::deque<std::int64_t> imported_us_;  // the last ones
  Computation<Result<AcceptTopology>> made_;
};

// "link.exchanged", one for each exchange, and the differences from the intended topology into the status.
void show_exchanges(const SubnetContext& context, const std::vector<Exchange>& exchanges);

// "device.exchanged", "host.moved": one for each change that was found; and the changes into the status.
void show_changes(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links);

// The accepted topology with these cables. Errors: none that a valid topology leads to.
Result<AcceptTopology> fabric_as_cabled(const AcceptedTopology& accepted, const std::vector<fabric::Recabling>& cables,
                                        const std::string& subnet);

}  // namespace railweave::control
