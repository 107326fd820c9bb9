#include "services/rest/access/rate_limit.h"

#include <algorithm>
#include <cmath>

namespace railweave::api {

int RateLimit::take(std::string_view token, Clock::time_point now) {
  if (per_second_ == 0) return 0;
  const auto rate = static_cast<double>(per_second_);
  const auto room = static_cast<double>(std::max<std::uint64_t>(at_once_, 1));
  const auto level = [&](const Bucket& bucket) {
    return std::min(room, bucket.left + rate * std::chrono::duration<double>(now - bucket.filled).count());
  };
  const std::lock_guard lock(mutex_);
  auto at = buckets_.find(token);
  if (at == buckets_.end()) {
    if (buckets_.size() >= kMaxBuckets) {
      std::erase_if(buckets_, [&](const auto& entry) { return level(entry.second) >= room; });
    }
    at = buckets_.emplace(token, Bucket{room, now}).first;
  }
  Bucket& bucket = at->second;
  bucket.left = level(bucket);
  bucket.filled = now;
  if (bucket.left < 1) return static_cast<int>(std::ceil((1 - bucket.left) / rate));
  bucket.left -= 1;
  return 0;
}

}  // namespace railweave::api
