// Who is at the other end of a connection, as far as the connection itself says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace railweave::api {

struct Peer {
  std::string address;  // "192.0.2.7"; of a Unix socket "uid 1000"
  std::uint16_t port = 0;
  std::optional<std::uint32_t> uid;  // of the process at the other end of a Unix socket, as the kernel says
  std::vector<std::string> names;    // of the certificate that it showed, which is verified: DNS names, addresses of
                                     // mail and URIs, else the common name. Empty: it showed none
  std::int64_t certificate_expires_us = 0;  // with names
};

}  // namespace railweave::api
