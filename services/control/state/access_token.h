// What a caller shows to be let in: a secret that is kept as its hash alone. Durable, part of ClusterState.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/enum_text.h"

namespace railweave::control {

enum class Role : std::uint8_t {
  viewer,           // reads everything but tokens
  member,           // of one tenant: its own jobs, limits and contract
  fabric_operator,  // a viewer that runs the cluster: fabric, drains, subnets, every tenant's jobs
  administrator,    // an operator that says who may do what: tokens, tenants, contracts, classes, the queue's rules
  agent,            // of one node: its budgets, and what it reports of them
};
BOOST_DESCRIBE_ENUM(Role, viewer, member, fabric_operator, administrator, agent)
constexpr std::optional<std::string_view> enum_exception(Role role) {
  return role == Role::fabric_operator ? std::optional<std::string_view>("operator") : std::nullopt;
}

struct AccessToken {
  static constexpr std::size_t kMaxTokens = 10'000;
  static constexpr std::size_t kForAdministrators = 100;  // of these

  std::string id;    // the readable part of the token, 12 lower-case letters and digits
  std::string name;  // whose it is, for people and as the actor of changes
  Role role = Role::viewer;
  std::string tenant;  // of members; else ""
  std::string node;    // of agents, which need not be there yet; else ""
  std::string sha256;  // of the secret, hexadecimal
  std::string issued_by;
  std::int64_t issued_us = 0;   // unix, UTC
  std::int64_t expires_us = 0;  // 0: never
  std::uint64_t version = 0;    // seq of the event that issued it

  [[nodiscard]] bool expired(std::int64_t now_us) const { return expires_us != 0 && expires_us <= now_us; }
};

using AccessTokenTable = std::map<std::string, AccessToken, std::less<>>;  // by id

}  // namespace railweave::control
