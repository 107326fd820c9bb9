// What is a flap of a link: it went down and came back by itself. A switch that restarts takes all of its cables down and
// brings them back, which is one event of the switch and no flap of any of them. No clock, see counter_history.h. Of one
// topology; used by one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric::health {

class LinkFlaps {
 public:
  // links: of one subnet. start_us: DampingOptions::start_us.
  LinkFlaps(const Topology& topology, std::span<const LinkId> links, std::int64_t start_us);

  struct Seen {
    std::vector<LinkId> flapped;      // came back, and no switch at their ends had been without any cable
    std::vector<SwitchId> restarted;  // have cables again
  };
  // is_up: as links, at now_us. The first call only learns them.
  Seen see(const std::vector<bool>& is_up, std::int64_t now_us);

 private:
  static constexpr std::int64_t kNever = INT64_MIN;
  struct Device {
    std::size_t cables = 0, up = 0;  // between switches, where it has any
    std::int64_t dark_us = kNever;   // when it was last seen without cables
    bool is_dark = false;
  };
  struct Ends {
    std::uint32_t a = 0, b = 0;  // in devices_; equal: the other end is no switch, or does not count
    bool counts = false;         // for its switches: whether they are dark
  };
  [[nodiscard]] bool was_restart(const Ends& ends, std::int64_t down_us) const;

  std::vector<LinkId> links_;
  std::vector<Ends> ends_;  // as links_, as the rest
  std::vector<bool> is_up_;
  std::vector<std::int64_t> down_us_;
  std::vector<Device> devices_;  // by SwitchId
  std::int64_t start_us_;
  bool is_first_ = true;
};

}  // namespace railweave::fabric::health
