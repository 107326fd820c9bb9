// Tokens as callers show them: any text is a token of two parts or none; digests are the same only where they are.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/http/message/headers.h"
#include "fabric/base/check.h"
#include "services/rest/access/token_text.h"

using namespace railweave;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const auto real = api::new_token();
  RAILWEAVE_CHECK(real && api::parse_token(real->text), "a new token can be read");
  if (const auto token = api::parse_token(text)) {
    RAILWEAVE_CHECK(!token->id.empty() && !token->secret.empty(), "a token has both parts");
    RAILWEAVE_CHECK(
        token->id.data() >= text.data() && token->secret.data() + token->secret.size() <= text.data() + text.size(),
        "parts of the text");
    RAILWEAVE_CHECK(text.size() < 1024, "a token is short");
  }
  RAILWEAVE_CHECK(api::same_digest(text, text), "the same is the same");
  std::string other(text);
  other += 'x';
  RAILWEAVE_CHECK(!api::same_digest(text, other) && !api::same_digest(other, text), "another is another");
  return 0;
}
