// When switches drop service levels that no job at the host has, on subnets that Railweave programs itself.
#pragma once

#include <cstdint>

#include "fabric/base/enum_text.h"

namespace railweave::control {

enum class IngressFiltering : std::uint8_t {
  never,
  isolation,  // while a contract asks for lanes of jobs' own, or for isolation inside a class
  always,
};
BOOST_DESCRIBE_ENUM(IngressFiltering, never, isolation, always)

}  // namespace railweave::control
