// Roles with their places while these are searched: the placer asks here where peers are, before it asks whom it asked before.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "scheduler/placement/roles/role_search.h"
#include "scheduler/placement/score/node_preferences.h"

namespace railweave::scheduler {

class PlacedRoles {
 public:
  // Borrows both. The placer has its own peers back when this ends.
  PlacedRoles(Placer& placer, std::vector<RolePlace>& roles);
  ~PlacedRoles();
  PlacedRoles(const PlacedRoles&) = delete;
  PlacedRoles& operator=(const PlacedRoles&) = delete;

  [[nodiscard]] Placer& placer() const { return placer_; }
  [[nodiscard]] std::vector<RolePlace>& roles() const { return roles_; }
  [[nodiscard]] double total_us() const;  // roles_us()

 private:
  Placer& placer_;
  std::vector<RolePlace>& roles_;
  std::vector<NodePreferences> preferences_;  // by role
  PeerGpus before_;
};

}  // namespace railweave::scheduler
