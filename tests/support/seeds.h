// How many seeds a random test takes: a part of them in `make test`; all of them where RAILWEAVE_SEED_PARTS is 1, as it is for the
// long tests (`make test-all`, a share of them in CI); a tenth under a sanitizer, where each takes 10 to 20 times as long. What such a
// test counts scales alike; RAILWEAVE_SEED_PARTS=10 shows without a sanitizer that it does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace railweave {

// One in `parts` of them, at least one.
[[nodiscard]] inline std::uint64_t part_of_seeds(std::uint64_t all, std::uint64_t parts = 4) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  parts = 10;
#else
  static const char* const asked = std::getenv("RAILWEAVE_SEED_PARTS");
  if (asked) parts = std::max<std::uint64_t>(1, std::strtoull(asked, nullptr, 10));
#endif
  return std::max<std::uint64_t>(1, all / parts);
}

}  // namespace railweave
