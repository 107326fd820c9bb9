// Who programs a subnet.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace railweave::control {

enum class SubnetMode : std::uint8_t {
  observe,  // nothing is written: the default for a subnet first met
  direct,   // Railweave alone programs it; refused while another subnet manager is master
  opensm,   // OpenSM programs it with Railweave's engine inside; Railweave repairs beside it
};

constexpr std::string_view to_string(SubnetMode mode) {
  constexpr std::array<std::string_view, 3> names = {"observe", "direct", "opensm"};
  return names[static_cast<std::size_t>(mode)];
}

constexpr std::optional<SubnetMode> parse_subnet_mode(std::string_view text) {
  for (const auto mode : {SubnetMode::observe, SubnetMode::direct, SubnetMode::opensm}) {
    if (to_string(mode) == text) return mode;
  }
  return std::nullopt;
}

// What an operator decided for a subnet.
struct SubnetPolicy {
  SubnetMode mode = SubnetMode::observe;
  std::string reason;
  std::uint64_t version = 0;  // seq of the event that last changed it: its ETag
};

using SubnetPolicyTable = std::map<std::string, SubnetPolicy, std::less<>>;  // by subnet; not there: observe

}  // namespace railweave::control
