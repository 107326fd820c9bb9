// The time of a run: it passes only where something waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

namespace railweave::simulation {

class SimulatedTime {
 public:
  [[nodiscard]] std::int64_t now_us() const { return now_us_; }
  void pass(std::int64_t us) { pass_until(now_us_ + us); }
  // In pieces, so that what happens meanwhile (leases are renewed) happens in time.
  void pass_until(std::int64_t until_us) {
    constexpr std::int64_t kPieceUs = 500'000;
    while (now_us_ < until_us) {
      now_us_ = std::min(until_us, now_us_ + kPieceUs);
      if (on_passed) on_passed();
    }
  }

  std::function<void()> on_passed;

 private:
  std::int64_t now_us_ = 1'000'000'000;
};

}  // namespace railweave::simulation
