// Texts of link states in events, answers and the journal.
#pragma once

#include <optional>
#include <string_view>

#include "fabric/topology/fabric_view.h"

namespace railweave::control {

constexpr std::string_view to_string(fabric::LinkState state) {
  switch (state) {
    case fabric::LinkState::up:
      return "up";
    case fabric::LinkState::degraded:
      return "degraded";
    case fabric::LinkState::down:
      return "down";
  }
  return "";
}

constexpr std::optional<fabric::LinkState> parse_link_state(std::string_view text) {
  for (const auto state : {fabric::LinkState::up, fabric::LinkState::degraded, fabric::LinkState::down}) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

}  // namespace railweave::control
