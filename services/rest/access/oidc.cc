#include "services/rest/access/oidc.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "api/client/client.h"
#include "services/json/digest.h"

namespace railweave::api {
namespace {

constexpr std::chrono::milliseconds kLook{1'000};  // at a file

bool is_url(const std::string& keys) { return keys.starts_with("https://"); }

std::unexpected<OidcRefusal> refuse(int status, std::string code, std::string detail, int retry_after_s = 0) {
  return std::unexpected(OidcRefusal{status, std::move(code), std::move(detail), retry_after_s});
}

std::filesystem::file_time_type time_of(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::last_write_time(file, ignored);
}

}  // namespace

bool looks_like_jwt(std::string_view token) { return std::ranges::count(token, '.') == 2 && !token.starts_with("rw_"); }

Oidc::Oidc(Options options) : options_(std::move(options)) {
  read_keys();
  worker_.start([this](Worker::Turn& turn) { run(turn); });
}

void Oidc::run(Worker::Turn& turn) {
  const bool file = !is_url(options_.keys);
  auto written = file ? time_of(options_.keys) : std::filesystem::file_time_type();
  while (turn.rest(std::min(kLook, options_.least_between_reads))) {
    if (!is_time_to_read() && !(file && time_of(options_.keys) != written)) continue;
    if (file) written = time_of(options_.keys);
    read_keys();
  }
}

bool Oidc::is_time_to_read() const {
  const std::lock_guard lock(mutex_);
  const auto since = Clock::now() - last_read_;
  const bool wanted = asked_ || keys_ == nullptr;
  return since >= (wanted ? options_.least_between_reads : options_.most_between_reads);
}

Result<std::string> Oidc::fetch() const {
  if (!is_url(options_.keys)) {
    std::ifstream in(options_.keys, std::ios::binary);
    if (!in) return fail(ErrorKind::unavailable, "oidc.keys", "the file cannot be read", options_.keys);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  const auto path = options_.keys.find('/', std::string_view("https://").size());
  auto url = parse_url(options_.keys.substr(0, path));
  if (!url) return std::unexpected(url.error());
  ClientOptions client_options;
  client_options.service = "the provider of keys";
  client_options.start_hint = "is its address right?";
  client_options.ca_file = options_.ca_file;
  client_options.timeout = std::chrono::milliseconds(10'000);
  client_options.max_answer_bytes = KeySet::kMaxBytes;
  Client client(std::move(*url), client_options);
  auto answer = client.get(path == std::string::npos ? "/" : options_.keys.substr(path));
  if (!answer) return std::unexpected(answer.error());
  if (!answer->ok()) {
    return fail(ErrorKind::unavailable, "oidc.keys", fmt::format("the provider answers with {}", answer->status),
                options_.keys);
  }
  return std::move(answer->body);
}

void Oidc::read_keys() {
  const auto document = fetch();
  auto read = document ? KeySet::parse(*document) : std::unexpected(document.error());
  const std::lock_guard lock(mutex_);
  last_read_ = Clock::now();
  asked_ = false;
  if (read) {
    const bool first = keys_ == nullptr;
    keys_ = std::move(*read);
    verified_.clear();  // a key that is gone verifies nothing any more
    if (first) options_.log(fmt::format("OpenID Connect: {} keys read from {}", keys_->size(), options_.keys));
  } else {
    options_.log(fmt::format("OpenID Connect: keys cannot be read{}{}",
                             keys_ ? ", those of before stay in use: " : ": ", read.error().text()));
  }
}

void Oidc::ask_for_keys() {
  const std::lock_guard lock(mutex_);
  asked_ = true;
}

std::shared_ptr<const KeySet> Oidc::keys() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

std::expected<OidcUser, OidcRefusal> Oidc::verify(std::string_view token, const std::string& address,
                                                  std::int64_t now_us) {
  if (token.size() > kMaxTokenBytes) {
    return refuse(401, "auth.invalid", fmt::format("the token is longer than {} bytes", kMaxTokenBytes));
  }
  const std::string digest = sha256_hex(token);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = verified_.find(digest); known != verified_.end()) {
      if (now_us < known->second.expires_us) return known->second;
      verified_.erase(known);
      return refuse(401, "auth.expired", "the token has expired");
    }
  }
  auto user = verify_new(token, now_us);
  if (!user) {
    const int wait_s = user.error().status == 401 ? failed_.take(address, RateLimit::Clock::now()) : 0;
    if (wait_s == 0) return user;
    return refuse(429, "http.tooManyRequests", "too many tokens that do not hold are shown from " + address, wait_s);
  }
  const std::lock_guard lock(mutex_);
  if (verified_.size() >= kMaxVerified) verified_.clear();
  verified_.emplace(digest, *user);
  return user;
}

std::expected<OidcUser, OidcRefusal> Oidc::verify_new(std::string_view token, std::int64_t now_us) {
  const auto set = keys();
  if (set == nullptr) {
    return refuse(503, "auth.noKeys", "the keys of the provider could not be read yet; the service's log says why", 5);
  }
  const auto payload = set->verify(token);
  if (payload) return user_of(*payload, options_.rules, now_us);
  switch (payload.error()) {
    case KeySet::Refusal::algorithm:
      return refuse(401, "auth.invalid", "the token is not signed with RS256 or ES256");
    case KeySet::Refusal::unknown_key:
      ask_for_keys();
      return refuse(401, "auth.unknownKey",
                    "the token is signed with a key that the provider has not published, or newly");
    case KeySet::Refusal::signature:
      return refuse(401, "auth.invalid", "the signature of the token does not hold");
    case KeySet::Refusal::malformed:
      break;
  }
  return refuse(401, "auth.invalid", "this is no signed token");
}

}  // namespace railweave::api
