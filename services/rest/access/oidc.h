// People who sign in with an OpenID Connect provider: their JSON Web Tokens, verified with the provider's keys. The keys come
// from a file, or from an https URL; a thread of its own reads them, so that no request waits for the provider. They are read
// again every ten minutes, when the file changes, and for a key that is not known, at most once a minute. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "fabric/base/worker/worker.h"
#include "services/rest/access/oidc_claims.h"
#include "services/rest/access/oidc_keys.h"
#include "services/rest/access/rate_limit.h"

namespace railweave::api {

// Three parts of letters, as no token of this service has.
bool looks_like_jwt(std::string_view token);

class Oidc {
 public:
  static constexpr std::size_t kMaxTokenBytes = 8'192;

  struct Options {
    OidcRules rules;
    std::string keys;     // a file, or an https URL
    std::string ca_file;  // certificates trusted for it; "": those of the system
    std::chrono::milliseconds least_between_reads{60'000}, most_between_reads{600'000};
    std::function<void(const std::string&)> log = [](const std::string&) {};
  };

  // Reads the keys once. A provider that does not answer is asked again later: its users wait until it does.
  explicit Oidc(Options options);
  ~Oidc() = default;
  Oidc(const Oidc&) = delete;
  Oidc& operator=(const Oidc&) = delete;

  // address: of who shows it. Whoever shows many that do not hold is told to wait; a token that holds always does, as others
  // may come from the same address. A signature costs less than the connection that it comes by.
  std::expected<OidcUser, OidcRefusal> verify(std::string_view token, const std::string& address, std::int64_t now_us);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxVerified = 10'000;
  static constexpr std::uint64_t kFailuresPerSecond = 50, kFailuresAtOnce = 200;  // of an address

  void run(Worker::Turn& turn);
  [[nodiscard]] bool is_time_to_read() const;
  void read_keys();
  [[nodiscard]] Result<std::string> fetch() const;
  void ask_for_keys();
  std::shared_ptr<const KeySet> keys() const;
  std::expected<OidcUser, OidcRefusal> verify_new(std::string_view token, std::int64_t now_us);

  const Options options_;
  RateLimit failed_{kFailuresPerSecond, kFailuresAtOnce};

  mutable std::mutex mutex_;                            // guards the next four
  std::shared_ptr<const KeySet> keys_;                  // null: not read yet
  std::unordered_map<std::string, OidcUser> verified_;  // by the SHA-256 of the token; forgotten with the keys
  Clock::time_point last_read_;
  bool asked_ = false;
  Worker worker_{"oidc keys"};  // last: uses all of the above
};

}  // namespace railweave::api
