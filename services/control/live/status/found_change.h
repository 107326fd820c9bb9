// What a live subnet found otherwise than accepted, and what would make it accepted as one change: a device in the place of another,
// or a host whose cables lead to other ports of switches that are accepted. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/topology/recabling.h"

namespace railweave::control {

struct FoundChange {
  enum class Kind : std::uint8_t { exchangedAdapter, exchangedSwitch, movedHost };
  BOOST_DESCRIBE_NESTED_ENUM(Kind, exchangedAdapter, exchangedSwitch, movedHost)
  Kind kind = Kind::exchangedAdapter;
  std::string id;                        // "exchangedAdapter:<accepted GUID>", "movedHost:<name>"
  std::string subject_kind, subject_id;  // "node" or "switch", and its name
  std::string text;                      // for people
  bool is_described_alike = true;        // what is there describes itself as what is accepted
  std::vector<fabric::DeviceExchange> exchanged;
  std::vector<fabric::Recabling> cables;  // links are the accepted topology's
  friend bool operator==(const FoundChange&, const FoundChange&) = default;
};
constexpr std::string_view to_string(FoundChange::Kind kind) { return to_text(kind); }

struct FoundChanges {
  std::uint64_t version = 0;  // of the accepted topology that they change
  std::vector<FoundChange> items;
};
using FoundChangesPtr = std::shared_ptr<const FoundChanges>;

}  // namespace railweave::control
