// Something about a fabric that an operator should know, found while reading, building or checking it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/enum_text.h"

namespace railweave::fabric {

enum class Severity : unsigned char { info, warning, error };
BOOST_DESCRIBE_ENUM(Severity, info, warning, error)

inline constexpr std::size_t kMaxFindingObjects = 1000;

struct Finding {
  std::string code;  // stable, camelCase: "hostShortOfRail"; the list is in fabric/topology/checks/checks.h
  Severity severity = Severity::warning;
  std::string message;
  std::vector<std::string> objects;  // names as operators know them: hosts, switches, "<guid>/<port>", links
};

constexpr std::string_view to_string(Severity severity) { return to_text(severity); }

}  // namespace railweave::fabric
