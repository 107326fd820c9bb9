#include "api/http/dispatch/request_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "fabric/base/whole_number.h"

namespace railweave::api {
namespace {

Problem refused(int status, std::string code, std::string detail, std::string hint = {}) {
  Problem problem;
  problem.status = status;
  problem.code = std::move(code);
  problem.detail = std::move(detail);
  problem.hint = std::move(hint);
  return problem;
}

// Four decimal numbers below 256, the first 127.
bool is_loopback_ipv4(std::string_view text) {
  int numbers = 0;
  for (;;) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    const auto value = whole_number<std::uint8_t>(part);
    if (!value || part.size() > 3) return false;
    if (++numbers == 1 && *value != 127) return false;
    if (dot == std::string_view::npos) return numbers == 4;
    text.remove_prefix(dot + 1);
  }
}

// The host of "host:port" or "[v6]:port"; "" when it is neither.
std::string_view host_of(std::string_view authority) {
  std::string_view host = authority;
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return {};
    host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else if (const std::size_t colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  const bool plain_port = port.empty() || (port.front() == ':' && port.size() <= 6 &&
                                           port.find_first_not_of("0123456789", 1) == std::string_view::npos);
  return plain_port ? host : std::string_view();
}

}  // namespace

std::optional<Problem> check_framing(int version, const Headers& headers) {
  const std::size_t lengths = headers.count("Content-Length");
  const std::size_t codings = headers.count("Transfer-Encoding");
  if (lengths > 1 || headers.value("Content-Length").find(',') != std::string_view::npos) {
    return refused(400, "http.badFraming", "the request has more than one Content-Length");
  }
  if (lengths > 0 && codings > 0) {
    return refused(400, "http.badFraming", "the request has both Content-Length and Transfer-Encoding");
  }
  if (codings > 0 && version < 11) {
    return refused(400, "http.badFraming", "Transfer-Encoding does not exist in HTTP/1.0");
  }
  if (codings > 1 || (codings == 1 && !equal_ignoring_case(headers.value("Transfer-Encoding"), "chunked"))) {
    return refused(501, "http.transferEncoding", "the only transfer coding understood is \"chunked\"");
  }
  const std::size_t hosts = headers.count("Host");
  if (hosts > 1 || (hosts == 0 && version >= 11)) {
    return refused(400, "http.badHost", hosts > 1 ? "the request has more than one Host" : "the request has no Host");
  }
  const std::string_view expect = headers.value("Expect");
  if (!expect.empty() && !equal_ignoring_case(expect, "100-continue")) {
    return refused(417, "http.expectation", "the only expectation understood is \"100-continue\"");
  }
  return std::nullopt;
}

bool is_loopback_name(std::string_view host) {
  return equal_ignoring_case(host, "localhost") || host == "::1" || is_loopback_ipv4(host);
}

bool is_own_host(std::string_view authority, const std::vector<std::string>& allowed) {
  const std::string_view host = host_of(authority);
  return is_loopback_name(host) || std::any_of(allowed.begin(), allowed.end(), [&](const std::string& name) {
           return equal_ignoring_case(host, name);
         });
}

std::optional<Problem> check_origin(Method method, const Headers& headers,
                                    const std::vector<std::string>& allowed_hosts, bool tls) {
  if (const std::string* host = headers.find("Host"); host != nullptr && !is_own_host(*host, allowed_hosts)) {
    return refused(421, "http.wrongHost", "the Host header names another server",
                   "use 127.0.0.1, localhost or a name that the service is configured with");
  }
  const std::string* origin = headers.find("Origin");
  if (origin == nullptr || is_safe(method)) return std::nullopt;
  // Another port of this machine is another site: anything may run there.
  const std::string_view scheme = tls ? "https://" : "http://";
  const std::string* host = headers.find("Host");
  const bool own = host != nullptr && origin->starts_with(scheme) &&
                   equal_ignoring_case(std::string_view(*origin).substr(scheme.size()), *host);
  if (own) return std::nullopt;
  return refused(403, "http.crossOrigin", "a web page of another site may not change anything here",
                 "the Origin must be the scheme and the Host of the request, with its port");
}

std::optional<Problem> check_media_type(const Headers& headers, const std::vector<std::string>& consumes) {
  if (consumes.empty()) return std::nullopt;
  const std::string_view whole = headers.value("Content-Type");
  const std::string_view type = trimmed(whole.substr(0, whole.find(';')));
  for (const std::string& accepted : consumes) {
    if (equal_ignoring_case(type, accepted)) return std::nullopt;
  }
  const std::string list = fmt::format("{}", fmt::join(consumes, ", "));
  return refused(415, "http.mediaType", "the body's Content-Type is not one of: " + list);
}

}  // namespace railweave::api
