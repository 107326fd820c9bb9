#include "fabric/topology/link.h"

#include "fabric/base/lower_case.h"

namespace railweave::fabric {

std::optional<LinkSpeed> parse_link_speed(std::string_view text) {
  if (text.empty()) return std::nullopt;
  for (const LinkSpeed speed : enum_values<LinkSpeed>()) {
    if (equal_ignoring_case(text, to_text(speed))) return speed;
  }
  return std::nullopt;
}

}  // namespace railweave::fabric
