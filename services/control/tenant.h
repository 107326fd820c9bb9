// A tenant: who jobs are placed for, and how much they may hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace railweave::control {

struct Tenant {
  std::string name;
  std::string description;
  std::optional<std::uint64_t> max_gpus;  // held by placed jobs at one time; none: no limit
  std::uint64_t version = 0;              // seq of the event that last changed it: its ETag
};

using TenantTable = std::map<std::string, Tenant, std::less<>>;

}  // namespace railweave::control
