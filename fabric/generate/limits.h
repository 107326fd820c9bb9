// The limit on generated hosts, and the error for parameters that no fabric can meet. Internal to fabric/generate.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "fabric/base/error.h"

namespace railweave::fabric {

inline constexpr std::uint32_t kMaxGeneratedHosts = 1U << 18U;

inline std::unexpected<Error> impossible(std::string message, std::string hint) {
  return fail(ErrorKind::impossible, "generate.impossible", std::move(message), {}, std::move(hint));
}

}  // namespace railweave::fabric
