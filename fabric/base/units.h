// Units with a type of their own. Rates are decimal megabits per second, as integers, so that sums are exact.
#pragma once

#include <compare>
#include <cstdint>

namespace railweave {

class RateMbps {
 public:
  constexpr RateMbps() = default;
  constexpr explicit RateMbps(std::int64_t value) : value_(value) {}
  [[nodiscard]] constexpr std::int64_t value() const { return value_; }
  [[nodiscard]] constexpr double gbps() const { return static_cast<double>(value_) / 1000.0; }
  friend constexpr auto operator<=>(RateMbps, RateMbps) = default;
  friend constexpr RateMbps operator+(RateMbps a, RateMbps b) { return RateMbps(a.value_ + b.value_); }
  friend constexpr RateMbps operator-(RateMbps a, RateMbps b) { return RateMbps(a.value_ - b.value_); }

 private:
  std::int64_t value_ = 0;
};

constexpr RateMbps from_gbps(std::int64_t gbps) { return RateMbps(gbps * 1000); }

}  // namespace railweave
