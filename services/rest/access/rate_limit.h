// How many requests a token may make: a bucket for each, filled at a steady rate. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace railweave::api {

class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // Requests a second, and how many may come at once after a pause. per_second 0: no limit.
  RateLimit(std::uint64_t per_second, std::uint64_t at_once) : per_second_(per_second), at_once_(at_once) {}

  // 0: the request may be made, and is counted. Else the seconds after which one may, rounded up.
  int take(std::string_view token, Clock::time_point now);

 private:
  struct Bucket {
    double left = 0;
    Clock::time_point filled;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // As many as there are tokens at most: full ones are dropped when there are more.
  static constexpr std::size_t kMaxBuckets = 10'000;

  const std::uint64_t per_second_, at_once_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket, Hash, std::equal_to<>> buckets_;  // guarded by mutex_
};

}  // namespace railweave::api
