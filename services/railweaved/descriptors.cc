#include "services/railweaved/descriptors.h"

#include <algorithm>

#include <sys/resource.h>

namespace railweave {

std::uint64_t connections_within_descriptors(std::uint64_t wanted) {
  constexpr std::uint64_t kOthers = 192;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, wanted + kOthers));
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  }
  const std::uint64_t open = limit.rlim_cur;
  return std::clamp<std::uint64_t>(open > kOthers ? open - kOthers : 1, 1, wanted);
}

}  // namespace railweave
