#include "services/railweave/connection/fetch.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fmt/core.h>

#include "api/client/client.h"

namespace railweave::cli {
namespace {

constexpr int kOk = 200, kUnauthorized = 401, kForbidden = 403;

std::string hint_of(int status) {
  if (status == kUnauthorized || status == kForbidden) {
    return "give a token with --source-token-file; UFM takes tokens below /ufmRestV3";
  }
  return status >= 300 && status < 400 ? "redirections are not followed: give the final URL" : "";
}

// Elsewhere a token in the clear can be read on its way. A name may begin like an address.
bool is_private(const api::Url& url) {
  in_addr address{};
  const bool is_loopback =
      ::inet_pton(AF_INET, url.host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24U) == IN_LOOPBACKNET;
  return url.tls || is_loopback || url.host == "::1" || url.host == "localhost";
}

}  // namespace

bool is_url(const std::string& path) { return path.starts_with("http://") || path.starts_with("https://"); }

std::string shown_url(const std::string& url) { return url.substr(0, url.find('?')); }

Result<std::string> fetch(const std::string& url, const FetchAccess& access, std::size_t limit_bytes) {
  const auto host = url.find("://") + 3;
  const auto path = std::min(url.find('/', host), url.size());
  auto parsed = api::parse_url(url.substr(0, path));
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  if (!access.token.empty() && !is_private(*parsed)) {
    return fail(ErrorKind::invalid, "cli.tokenInClear", "a token is not sent without encryption", shown_url(url),
                "use https://, with --ca-file for certificates of the site's own");
  }
  api::ClientOptions options;
  options.service = shown_url(url);
  options.start_hint = "is that its address, and can it be reached from here?";
  options.user_agent = "railweave/" RAILWEAVE_VERSION;
  options.ca_file = access.ca_file;
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(access.timeout_s * 1000));
  options.max_answer_bytes = limit_bytes;
  if (!access.token.empty()) options.headers.add("Authorization", "Basic " + access.token);
  api::Client client(std::move(*parsed), std::move(options));
  auto answer = client.get(path < url.size() ? url.substr(path) : "/");
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (answer->status != kOk) {
    return fail(ErrorKind::invalid, "cli.cannotFetch", fmt::format("answers with status {}", answer->status),
                shown_url(url), hint_of(answer->status));
  }
  return std::move(answer->body);
}

}  // namespace railweave::cli
