// What a replica tells the leader of the caller of a request that it sends on, where the caller is known by its connection to
// that replica: "socket root", "certificate agent-7.cluster.example". It says who, never what that caller may do. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/rest/access/caller.h"

namespace railweave::api {

inline constexpr const char* kOnBehalf = "Railweave-On-Behalf";

// "" where the request itself shows who it is from.
std::string on_behalf(const Caller& caller);

struct Vouched {
  KnownBy known_by = KnownBy::socket;  // or certificate
  std::string name;                    // of an account; at a socket "root" or "uid-<number>"
};
// None where it says nothing of the kind.
std::optional<Vouched> parse_on_behalf(std::string_view text);

}  // namespace railweave::api
