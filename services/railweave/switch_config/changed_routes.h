// What of a switch's routes is other than what it was given before, as text for the same reader.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::cli {

struct ChangedRoutes {
  std::size_t routes = 0;
  std::string text;  // "": none
  std::string
      rest;  // of what was given, without the routes that change: what the switch has for sure while it is being changed
};

// Of two scripts as route_script() makes them; given: "" where the switch was given none. Destinations that are not wanted any more
// are left alone: they are no longer in the fabric. Pure.
ChangedRoutes changed_route_commands(std::string_view given, std::string_view wanted);
// The same of two texts of sonic_routes(). Errors: one of them is not JSON.
Result<ChangedRoutes> changed_sonic_routes(std::string_view given, std::string_view wanted);

}  // namespace railweave::cli
