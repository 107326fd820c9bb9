// The tables that one subnet's switches hold, as read back or written; switches whose tables are not known are named
// and left out. Of one accepted topology; used by the stepping thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/control/live/links/link_alarms.h"
#include "services/control/live/routes/foreign_entries.h"
#include "services/control/live/routes/table_reading.h"

namespace railweave::control {

class AppliedTables {
 public:
  [[nodiscard]] bool are_known() const { return routing_.has_value(); }  // but for unknown()
  [[nodiscard]] const fabric::Routing& routing() const { return *routing_; }
  // With what those that are not known last held.
  [[nodiscard]] const fabric::Routing& last_held() const { return last_held_ ? *last_held_ : *routing_; }
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
  // lids: as with_readings() has them.
  void take(std::span<const fabric::TableReading> readings, const fabric::Routing& wanted,
            std::span<const fabric::Lid> lids, std::int64_t now_us);
  // When the switch's tables were last read, monotonic; 0: never.
  [[nodiscard]] std::int64_t read_us(fabric::SwitchId sw) const {
    const auto found = read_us_.find(sw);
    return found == read_us_.end() ? 0 : found->second;
  }
  [[nodiscard]] const ForeignEntries& foreign() const { return foreign_; }  // as last read
  // They are as wanted now, but for unknown().
  void set(const fabric::Routing& wanted);
  // What ports make of levels now, while they are_known().
  void set_lanes(fabric::Lanes lanes) {
    routing_->lanes = std::move(lanes);
    ++revision_;
  }
  // These tables were written over, wholly or in part: packets that had met them are on their way for a while.
  void keep_earlier(const fabric::Routing& routing, std::int64_t now_us);
  // All packets that were on their way have left the fabric.
  void packets_left() { earlier_.clear(); }
  // Tables that packets on their way may have met before those that there are, the oldest first.
  [[nodiscard]] std::vector<const fabric::Routing*> earlier(std::int64_t now_us) const;
  // Another one whenever the tables or the lanes may be others.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }

 private:
  struct Earlier {
    fabric::Routing routing;
    std::int64_t until_us = 0;
  };
  static constexpr std::size_t kMaxEarlier = 12;  // within a packet's life; each makes the proof dearer

  void replace(fabric::Routing routing);

  std::optional<fabric::Routing> routing_;
  std::optional<fabric::Routing> last_held_;  // none: as routing_
  std::vector<Earlier> earlier_;
  std::set<fabric::SwitchId> unknown_;
  IsolatedSwitches isolated_;
  std::map<fabric::SwitchId, std::int64_t> read_us_;
  ForeignEntries foreign_;
  std::uint64_t revision_ = 1;
};

}  // namespace railweave::control
