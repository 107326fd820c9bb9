#include "services/rest/access/token_text.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "services/json/digest.h"

namespace railweave::api {
namespace {

constexpr std::string_view kPrefix = "rw_";
constexpr std::size_t kIdCharacters = 12, kSecretCharacters = 43;  // 43 of 64: 258 bits
constexpr std::string_view kIdAlphabet = "abcdefghijklmnopqrstuvwxyz012345";
constexpr std::string_view kSecretAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.";

// One character per byte: both alphabets have a power of two, so each is as likely as any other.
std::string written_in(std::string_view alphabet, std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += alphabet[byte % alphabet.size()];
  return text;
}

bool is_written_in(std::string_view alphabet, std::string_view text) {
  return text.find_first_not_of(alphabet) == std::string_view::npos;
}

}  // namespace

Result<NewToken> new_token() {
  static_assert(kIdAlphabet.size() == 32 && kSecretAlphabet.size() == 64);
  std::array<unsigned char, kIdCharacters + kSecretCharacters> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return fail(ErrorKind::internal, "tokens.noRandomness", "the system gives no random bytes");
  }
  const auto all = std::span<const unsigned char>(bytes);
  NewToken token;
  token.id = written_in(kIdAlphabet, all.first(kIdCharacters));
  const std::string secret = written_in(kSecretAlphabet, all.subspan(kIdCharacters));
  token.text = fmt::format("{}{}_{}", kPrefix, token.id, secret);
  token.sha256 = sha256_hex(secret);
  return token;
}

std::optional<TokenText> parse_token(std::string_view text) {
  if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + kIdCharacters + 1 + kSecretCharacters) {
    return std::nullopt;
  }
  text.remove_prefix(kPrefix.size());
  const TokenText token{text.substr(0, kIdCharacters), text.substr(kIdCharacters + 1)};
  if (text[kIdCharacters] != '_' || !is_written_in(kIdAlphabet, token.id) ||
      !is_written_in(kSecretAlphabet, token.secret)) {
    return std::nullopt;
  }
  return token;
}

bool same_digest(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace railweave::api
