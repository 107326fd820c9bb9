// The tables that one subnet's switches hold, as read back or written; switches whose tables are not known are named
// and left out. Of one accepted topology; used by the stepping thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "services/control/live/links/link_alarms.h"
#include "services/control/live/routes/table_reading.h"

namespace railweave::control {

class AppliedTables {
 public:
  [[nodiscard]] bool are_known() const { return routing_.has_value(); }  // but for unknown()
  [[nodiscard]] const fabric::Routing& routing() const { return *routing_; }
  // Switches whose tables are not known: not read since they may have lost them, or silent.
  [[nodiscard]] const std::set<fabric::SwitchId>& unknown() const { return unknown_; }
  [[nodiscard]] const IsolatedSwitches& isolated() const { return isolated_; }

  // Another subnet manager may write them, or the connection failed: all are to be read again.
  void forget();
  // Before all are read at once: no switch is left out.
  void start_over();
  // The switch may have lost its tables.
  void doubt(fabric::SwitchId sw) { unknown_.insert(sw); }
  void isolate(fabric::SwitchId sw, const std::string& reason);
  // wanted: what is assumed of switches that were not read yet.
  void take(std::span<const fabric::TableReading> readings, const fabric::Routing& wanted);
  // They are as wanted now, but for unknown().
  void set(const fabric::Routing& wanted) { routing_ = wanted; }

  // The next switches of `all` to read, at most `count`; advance() once they were read. True: all were.
  [[nodiscard]] std::span<const fabric::SwitchId> next(std::span<const fabric::SwitchId> all, std::size_t count) const;
  [[nodiscard]] bool is_reading() const { return next_ != 0; }
  bool advance(std::size_t count, std::size_t all);

 private:
  std::optional<fabric::Routing> routing_;
  std::set<fabric::SwitchId> unknown_;
  IsolatedSwitches isolated_;
  std::size_t next_ = 0;  // of all switches; 0: no reading of all tables has begun
};

}  // namespace railweave::control
