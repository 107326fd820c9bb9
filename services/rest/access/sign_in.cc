#include "services/rest/access/sign_in.h"

#include <algorithm>
#include <string_view>

namespace railweave::api {

std::string origin_of_issuer(const std::string& issuer) {
  const auto scheme = issuer.find("://");
  if (scheme == std::string::npos) return {};
  const auto host = scheme + 3;
  std::string origin = issuer.substr(0, issuer.find_first_of("/?#", host));
  const std::string_view authority = std::string_view(origin).substr(host);
  // It becomes part of a Content-Security-Policy: no list, no user, nothing that ends a directive.
  const bool plain = std::ranges::all_of(authority, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == ':' || c == '[' || c == ']';
  });
  if (authority.empty() || !plain) return {};
  if (origin.starts_with("https://")) return origin;
  const std::string_view name = authority.substr(0, authority.rfind(':'));
  const bool loopback = authority == "localhost" || name == "localhost" || name == "127.0.0.1" ||
                        authority == "127.0.0.1" || authority == "[::1]" || authority.starts_with("[::1]:");
  return origin.starts_with("http://") && loopback ? origin : std::string();
}

}  // namespace railweave::api
