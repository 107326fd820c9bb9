// The public keys of an OpenID Connect provider, as its JWKS document has them (RFC 7517), and the signatures that they
// verify: RS256 with keys of 2,048 bits and more, and ES256. Everything else in the document is left out. By libcjose.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::api {

class KeySet {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20U, kMaxKeys = 100;

  KeySet();
  ~KeySet();
  KeySet(const KeySet&) = delete;
  KeySet& operator=(const KeySet&) = delete;

  // Error: no such document, or no key in it that is of use.
  static Result<std::shared_ptr<KeySet>> parse(std::string_view document);

  enum class Refusal { malformed, algorithm, unknown_key, signature };
  // The payload of a compact JWS whose signature one of the keys verifies. Thread-safe.
  [[nodiscard]] std::expected<std::string, Refusal> verify(std::string_view text) const;

  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  struct Key;
  [[nodiscard]] const Key* find(std::string_view id, std::string_view algorithm) const;

  std::vector<std::unique_ptr<Key>> keys_;
  mutable std::mutex mutex_;  // the library's keys are used by one thread at a time
};

}  // namespace railweave::api
