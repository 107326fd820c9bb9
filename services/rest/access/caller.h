// Who sends a request, and what each role may call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/http/message/request.h"
#include "fabric/base/enum_text.h"
#include "services/control/state/access_token.h"

namespace railweave::api {

// What a caller is known by.
enum class KnownBy : std::uint8_t { token, socket, certificate, oidc };
BOOST_DESCRIBE_ENUM(KnownBy, token, socket, certificate, oidc)

inline constexpr std::string_view kOidcActor = "oidc:";  // no token is called so

struct Caller {
  std::string name;
  control::Role role = control::Role::viewer;
  std::string tenant;           // of members
  std::string token;            // its id, or "socket", "certificate", "oidc"
  std::int64_t expires_us = 0;  // 0: never
  KnownBy known_by = KnownBy::token;
  std::string node = {};  // of agents

  // Of changes. A provider's users choose their names, or others for them: they are told from those of tokens, of
  // certificates and of the service itself.
  [[nodiscard]] std::string actor() const { return known_by == KnownBy::oidc ? std::string(kOidcActor) + name : name; }
};

// Who may call a route. A member is let in beside the others, and its handler shows it nothing but its tenant's own, nor
// an agent but its node's.
struct Access {
  enum class Least : std::uint8_t { anyone, viewer, fabric_operator, administrator } least = Least::administrator;
  bool members = false, agents = false;

  [[nodiscard]] constexpr bool allows(control::Role role) const {
    switch (role) {
      case control::Role::viewer:
        return least <= Least::viewer;
      case control::Role::member:
        return members || least == Least::anyone;
      case control::Role::fabric_operator:
        return least <= Least::fabric_operator;
      case control::Role::administrator:
        return true;
      case control::Role::agent:
        return agents || least == Least::anyone;
    }
    return false;
  }
};
inline constexpr Access kAnyone{Access::Least::anyone, true, true};
inline constexpr Access kViewers{Access::Least::viewer, false};
inline constexpr Access kViewersAndMembers{Access::Least::viewer, true};
inline constexpr Access kOperators{Access::Least::fabric_operator, false};
inline constexpr Access kOperatorsAndMembers{Access::Least::fabric_operator, true};
inline constexpr Access kEveryRole{Access::Least::viewer, true, true};
inline constexpr Access kViewersAndAgents{Access::Least::viewer, false, true};
inline constexpr Access kOperatorsAndAgents{Access::Least::fabric_operator, false, true};
inline constexpr Access kAdministrators{Access::Least::administrator, false};

// The tenant that a member is held to; null: the caller may see all of them.
inline const std::string* own_tenant(const Request& request) {
  const Caller* caller = request.caller.get();
  return caller != nullptr && caller->role == control::Role::member ? &caller->tenant : nullptr;
}
inline bool may_see(const Request& request, std::string_view tenant) {
  const std::string* own = own_tenant(request);
  return own == nullptr || *own == tenant;
}

// The node that an agent is held to; null: the caller may see all of them.
inline const std::string* own_node(const Request& request) {
  const Caller* caller = request.caller.get();
  return caller != nullptr && caller->role == control::Role::agent ? &caller->node : nullptr;
}

}  // namespace railweave::api
