// The places where a service waits for something outside. At any of them it may crash, or be suspended while the world
// goes on.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace railweave::simulation {

struct Crash {};  // thrown through the service, which is then thrown away

class Awaits {
 public:
  enum class Place : std::uint8_t {
    append,          // before the store has the batch
    appended,        // after it has, before the service knows
    snapshot,        // before the store has it
    snapshot_saved,  // after it has
    read_store,      // replay at a start, or after a failure; of a follower, what is new
    take_lease,      // before it has the lease,
    lease_taken,     // and after, before anyone knows
    read_fabric,     // a datagram that reads
    write_fabric,    // a datagram that writes: a table, a LID, the state of a port
  };
  static constexpr std::array<const char*, 9> kNames{"append",         "appended",       "snapshot",
                                                     "snapshot saved", "read of store",  "take lease",
                                                     "lease taken",    "read of fabric", "write of fabric"};

  // At the n-th visit of the place from now on, counted from 0.
  void crash_at(Place place, unsigned n) { crash_ = Armed{place, n}; }
  void suspend_at(Place place, unsigned n) { suspend_ = Armed{place, n}; }
  void disarm() { crash_ = suspend_ = std::nullopt; }
  [[nodiscard]] bool is_armed() const { return crash_ || suspend_; }

  // True: it was suspended here.
  bool at(Place place) {
    if (hits(crash_, place)) throw Crash{};
    if (!hits(suspend_, place)) return false;
    on_suspended();
    return true;
  }

  std::function<void()> on_suspended;

 private:
  struct Armed {
    Place place;
    unsigned left;
  };
  static bool hits(std::optional<Armed>& armed, Place place) {
    if (!armed || armed->place != place || armed->left-- > 0) return false;
    armed.reset();
    return true;
  }

  std::optional<Armed> crash_, suspend_;
};

}  // namespace railweave::simulation
