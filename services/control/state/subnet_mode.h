// The mode of a subnet: which program writes its forwarding tables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "fabric/base/enum_text.h"

namespace railweave::control {

enum class SubnetMode : std::uint8_t {
  observe,  // Railweave writes nothing: the default for a new subnet
  direct,   // Railweave alone programs the subnet; refused while another subnet manager is master
  opensm,   // OpenSM programs the subnet with Railweave's routing engine; Railweave also repairs tables itself
};
BOOST_DESCRIBE_ENUM(SubnetMode, observe, direct, opensm)
constexpr std::string_view to_string(SubnetMode mode) { return to_text(mode); }

// The operator's setting for one subnet.
struct SubnetPolicy {
  SubnetMode mode = SubnetMode::observe;
  std::string reason;
  std::uint64_t version = 0;        // seq of the event that last changed the mode: its ETag
  std::uint64_t key_rotations = 0;  // of its management keys, whose generations count from 1
};

using SubnetPolicyTable = std::map<std::string, SubnetPolicy, std::less<>>;  // by subnet; observe if absent

}  // namespace railweave::control
