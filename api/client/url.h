// Where the service is: "http://127.0.0.1:7470", "https://fabric.example", "unix:/run/railweave.sock".
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
  std::string socket = {};  // the path of a Unix socket, instead

  [[nodiscard]] std::string authority() const;  // "127.0.0.1:7470", "[::1]:7470"
  [[nodiscard]] std::string text() const {
    return socket.empty() ? (tls ? "https://" : "http://") + authority() : "unix:" + socket;
  }
};

// http[s]://host[:port][/], with nothing after that and no user, or unix:/path; no other scheme.
Result<Url> parse_url(std::string_view text);

}  // namespace railweave::api
