// Finds out what changed in one subnet: discovers it whole after a connection, then listens for reports and sweeps
// where none come. Used by the stepping thread.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "services/control/live/connection/subnet_inbox.h"
#include "services/control/live/links/subnet_context.h"

namespace railweave::control {

class FabricWatch {
 public:
  FabricWatch(const SubnetContext& context, SubnetInbox& inbox) : context_(context), inbox_(inbox) {}

  struct Finding {
    fabric::Sweep sweep;
    RepairCause cause;
    bool is_whole = false;  // of the whole subnet, not of the switches that reported
  };
  // Errors, here and below: the connection failed.
  Result<Finding> discover();
  // Waits for reports, at most `wait`. None: nothing was reported and no sweep is due.
  Result<std::optional<Finding>> listen(std::chrono::milliseconds wait);
  // Reads where the cables of switches end that did not take what was written to them. None: a sweep will find out.
  Result<std::optional<Finding>> read_neighbours(std::span<const Guid> switches);
  // Notes what answered and whether devices changed.
  void note(const Finding& finding);
  // The next listen() reads everything again, whether anything is reported or not.
  void distrust() { distrusts_ = true; }
  // What devices reported of datagrams with wrong management keys: no reason to read anything.
  [[nodiscard]] std::vector<fabric::Observation> take_wrong_keys() { return std::exchange(wrong_keys_, {}); }

  [[nodiscard]] const std::set<Guid>& silent() const { return silent_; }  // did not answer the last sweep
  // Devices may have changed since the last discovery. Told once.
  [[nodiscard]] bool take_rediscover() { return std::exchange(rediscover_, false); }

 private:
  struct Reports {
    std::vector<Guid> devices;
    bool is_incomplete = false;  // some were lost, or say that devices changed
  };
  void add(Reports& reports, const std::vector<fabric::Observation>& observations);
  Result<void> collect(Reports& reports, std::int64_t start_us);
  Result<std::optional<Finding>> sweep(RepairCause cause);

  const SubnetContext& context_;
  SubnetInbox& inbox_;
  std::int64_t swept_at_us_ = 0;
  std::set<Guid> silent_;
  std::vector<fabric::Observation> wrong_keys_;
  bool rediscover_ = false, distrusts_ = false, is_blind_ = false;
};

}  // namespace railweave::control
