// Where the service is: "http://127.0.0.1:7470", "https://fabric.example".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::api {

struct Url {
  std::string host;  // a name or an address, IPv6 without brackets
  std::uint16_t port = 80;
  bool tls = false;

  [[nodiscard]] std::string authority() const;  // "127.0.0.1:7470", "[::1]:7470"
  [[nodiscard]] std::string text() const { return (tls ? "https://" : "http://") + authority(); }
};

// http[s]://host[:port][/]; nothing after that, no user, no other scheme.
Result<Url> parse_url(std::string_view text);

}  // namespace railweave::api
