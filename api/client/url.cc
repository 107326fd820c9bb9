#include "api/client/url.h"

#include "api/http/message/headers.h"
#include "fabric/base/text/utf8.h"
#include "fabric/base/whole_number.h"

namespace railweave::api {
namespace {

std::unexpected<Error> bad(std::string_view text, const std::string& why) {
  return fail(ErrorKind::invalid, "client.badUrl",
              "\"" + std::string(text) + "\" is not the address of a service: " + why, "",
              "write it as http://127.0.0.1:7470");
}

bool is_host(std::string_view host, bool bracketed) {
  constexpr std::string_view name = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
  constexpr std::string_view address = "0123456789abcdefABCDEF:.";
  return !host.empty() && host.size() <= 253 &&
         host.find_first_not_of(bracketed ? address : name) == std::string_view::npos;
}

}  // namespace

std::string Url::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Url> parse_url(std::string_view text) {
  std::string_view rest = text;
  if (has_ascii_control(text)) return bad("...", "it contains a control character");
  if (constexpr std::string_view kUnix = "unix:"; rest.starts_with(kUnix)) {
    rest.remove_prefix(kUnix.size());
    if (rest.starts_with("///")) rest.remove_prefix(2);
    if (!rest.starts_with('/') || rest.starts_with("//") || rest.size() < 2) {
      return bad(text, "a Unix socket is named by its whole path, as unix:/run/railweave.sock");
    }
    Url url;
    url.host = "localhost";
    url.socket = std::string(rest);
    return url;
  }
  const std::size_t scheme_end = rest.find("://");
  if (scheme_end == std::string_view::npos) return bad(text, "it does not begin with http://");
  const bool tls = equal_ignoring_case(rest.substr(0, scheme_end), "https");
  if (!tls && !equal_ignoring_case(rest.substr(0, scheme_end), "http")) {
    return bad(text, "only http://, https:// and unix: are supported");
  }
  rest.remove_prefix(scheme_end + 3);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  Url url;
  url.tls = tls;
  if (tls) url.port = 443;
  const bool bracketed = rest.starts_with('[');
  std::string_view port;
  if (bracketed) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) return bad(text, "the ] is missing");
    url.host = std::string(rest.substr(1, close - 1));
    port = rest.substr(close + 1);
  } else {
    const std::size_t colon = rest.find(':');
    url.host = std::string(rest.substr(0, colon));
    port = colon == std::string_view::npos ? std::string_view() : rest.substr(colon);
  }
  if (!is_host(url.host, bracketed)) return bad(text, "the host is missing or has characters that do not belong there");
  if (port.empty()) return url;
  if (port.contains('/') || url.host.contains('/')) {
    return bad(text, "it has a path, where only the host and the port are named");
  }
  const std::uint16_t number = port.front() == ':' ? whole_number<std::uint16_t>(port.substr(1)).value_or(0) : 0;
  if (number == 0) return bad(text, "the port is not a number from 1 to 65535");
  url.port = number;
  return url;
}

}  // namespace railweave::api
