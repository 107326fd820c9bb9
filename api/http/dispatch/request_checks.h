// Private to this folder: what is refused from the head of a request alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/message/method.h"
#include "api/http/message/problem.h"

namespace railweave::api {

// Framing that two readers could understand differently (request smuggling): several lengths, a length beside a
// transfer coding, codings other than chunked, no Host or several. The connection cannot go on after any of these.
std::optional<Problem> check_framing(int version, const Headers& headers);

// "127.0.0.1:7470", "[::1]", "localhost" or one of `allowed`, with or without a port.
bool is_own_host(std::string_view authority, const std::vector<std::string>& allowed);

// Host names this server (else 421), and a request that changes something does not come from another site's web page:
// its Origin, if it has one, is http:// (https:// with TLS) and its Host, with the port (else 403).
std::optional<Problem> check_origin(Method method, const Headers& headers,
                                    const std::vector<std::string>& allowed_hosts, bool tls);

// Whether the media type of Content-Type is among `consumes` (else 415).
std::optional<Problem> check_media_type(const Headers& headers, const std::vector<std::string>& consumes);

// "127.0.0.1", "::1", "localhost"; nothing else names this machine alone.
bool is_loopback_name(std::string_view host);

}  // namespace railweave::api
