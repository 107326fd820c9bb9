// Flaps of links, and restarts of switches, are counted here, so that not every flap reroutes the fabric: route flap
// damping (RFC 2439) applied to links, with a count within a window in the place of a decaying penalty. Which links may be
// held out of use is said by held_links.h, what is a flap by link_flaps.h. No clock, see counter_history.h; memory for what
// flapped within the window alone. Used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric::health {

struct DampingOptions {
  bool is_on = true;
  // As many flaps within the window make a link one that flaps, until it was calm for the hold time. Seating a cable takes
  // two or three attempts, which are within minutes of each other.
  unsigned flaps = 4;
  std::int64_t window_us = 600'000'000;
  std::int64_t hold_us = 600'000'000;
  // Of a switch's links, and of the paths between two leaves, that may be held at the same time.
  unsigned share_percent = 25;
  // A switch whose cables all went down and came back is a device that was restarted; what its ports do this long after
  // is part of its start.
  std::int64_t start_us = 60'000'000;

  static constexpr unsigned kMaxFlaps = 100;
};
// "health.damping"
Result<void> check(const DampingOptions& options);

template <class Id>
struct Flapping {
  Id id;
  std::int64_t since_us = 0;  // the flap that made it one
  std::int64_t until_us = 0;  // if it does not flap before
  std::uint64_t flaps = 0;    // since the first that counted
  friend bool operator==(const Flapping&, const Flapping&) = default;
};

// Of links or switches.
template <class Id>
class FlapDamping {
 public:
  explicit FlapDamping(const DampingOptions& options);  // that check() accepts

  void flap(Id id, std::int64_t at_us);
  // For operators: the cable was replaced.
  void forget(Id id) { records_.erase(id); }

  // Those that flap now, the longest first.
  [[nodiscard]] std::vector<Flapping<Id>> flapping(std::int64_t now_us);

 private:
  struct Record {
    std::vector<std::int64_t> at_us;  // the newest flaps, at most DampingOptions::flaps
    std::int64_t since_us = 0, until_us = 0;
    std::uint64_t flaps = 0;
  };
  DampingOptions options_;
  std::map<Id, Record> records_;
};

extern template class FlapDamping<LinkId>;
extern template class FlapDamping<SwitchId>;
using LinkDamping = FlapDamping<LinkId>;

}  // namespace railweave::fabric::health
