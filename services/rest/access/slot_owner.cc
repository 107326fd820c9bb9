#include "services/rest/access/slot_owner.h"

#include <fmt/core.h>

namespace railweave::api {

SlotOwner slot_owner(const Caller* caller) {
  if (caller == nullptr) return {};
  SlotOwner owner;
  owner.caller = fmt::format("{} {} of {}", railweave::to_text(caller->known_by), caller->name, caller->tenant);
  owner.uses_reserve = caller->role == control::Role::administrator;
  owner.told = caller->name;
  if (!caller->tenant.empty()) {
    owner.group = "tenant " + caller->tenant;
    owner.told = "callers of tenant " + caller->tenant;
  }
  return owner;
}

}  // namespace railweave::api
