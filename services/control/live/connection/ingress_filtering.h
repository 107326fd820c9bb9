// When switches drop service levels that no job at the host has, on subnets that Railweave programs itself.
#pragma once

#include <cstdint>

#include "fabric/base/enum_text.h"

namespace railweave::control {

enum class IngressFiltering : std::uint8_t {
  never,
  lanes,  // while a contract asks for lanes of jobs' own
  always,
};
BOOST_DESCRIBE_ENUM(IngressFiltering, never, lanes, always)

}  // namespace railweave::control
