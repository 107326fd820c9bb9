// Something about a fabric that an operator should know: from reading it, from building it, or from checking it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace railweave::fabric {

enum class Severity : unsigned char { info, warning, error };

inline constexpr std::size_t kMaxFindingObjects = 1000;

struct Finding {
  std::string code;  // stable, camelCase: "hostShortOfRail"; the list is in fabric/topology/checks/checks.h
  Severity severity = Severity::warning;
  std::string message;
  std::vector<std::string> objects;  // names as people know them: hosts, switches, "<guid>/<port>", links
};

constexpr std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "";
}

}  // namespace railweave::fabric
