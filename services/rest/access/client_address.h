// From where a client comes, where proxies or followers stand before this service: they say it in X-Forwarded-For or Forwarded (RFC
// 7239), and are believed only where the configuration trusts them, or where they show the certificate of a replica. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/message/headers.h"
#include "api/http/message/peer.h"

namespace railweave::api {

inline constexpr const char* kForwardedFor = "X-Forwarded-For";

// "192.0.2.0/24", "2001:db8::/32", or one address.
class Network {
 public:
  static std::optional<Network> parse(std::string_view text);
  [[nodiscard]] bool contains(std::string_view address) const;

 private:
  std::array<std::uint8_t, 16> bytes_{};  // of IPv4 as IPv6 maps them
  unsigned bits_ = 0;
};

struct TrustedSenders {
  std::vector<Network> proxies;
  std::vector<std::string> replicas;  // names in their certificates
};

// The nearest address that no trusted sender has. What is no address is not believed: it is the sender's then.
std::string client_address(const TrustedSenders& trusted, const Peer& peer, const Headers& headers);

}  // namespace railweave::api
