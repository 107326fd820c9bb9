// Percent-encoding of URIs (RFC 3986, 2.1): of path segments and query values by clients, decoded by the server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railweave {

// %XX decoded; std::nullopt for a % without two hexadecimal digits. `plus_is_space` is for query strings.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

// Everything but unreserved characters (RFC 3986, 2.3) encoded, "/" too: safe as one path segment or query value.
std::string percent_encode(std::string_view text);

}  // namespace railweave
