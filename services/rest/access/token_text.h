// A token as its owner holds it: "rw_<id>_<secret>", 59 characters. The secret has 256 bits of the system's randomness, so a
// plain SHA-256 of it is enough to keep. Pure but for new_token().
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::api {

struct NewToken {
  std::string id;
  std::string text;    // the whole token: shown once
  std::string sha256;  // of the secret
};
// Error: the system gives no randomness.
Result<NewToken> new_token();

struct TokenText {
  std::string_view id, secret;  // of the text that was read
};
// None where it is no token by its form.
std::optional<TokenText> parse_token(std::string_view text);

// In a time that does not depend on where they differ.
bool same_digest(std::string_view a, std::string_view b);

}  // namespace railweave::api
