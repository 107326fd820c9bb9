// Whether what was found in the place of something else is accepted without being asked for.
#pragma once

#include <cstdint>

#include "fabric/base/enum_text.h"

namespace railweave::control {

enum class AcceptReplacements : std::uint8_t {
  never,            // it is reported, and accepted by hand
  sameDescription,  // a device that describes itself as the one before did, and a host that was moved
};
BOOST_DESCRIBE_ENUM(AcceptReplacements, never, sameDescription)

}  // namespace railweave::control
