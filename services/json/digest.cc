#include "services/json/digest.h"

#include <array>
#include <span>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "fabric/base/check.h"

namespace railweave::api {
namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string hex(std::span<const unsigned char> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Digest digest{};
  unsigned size = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  RAILWEAVE_CHECK(ok == 1, "OpenSSL provides SHA-256");
  return hex(std::span(digest).first(size));
}

std::string hmac_sha256_hex(std::string_view secret, std::string_view message) {
  Digest digest{};
  unsigned size = 0;
  const auto* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                          reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(), &size);
  RAILWEAVE_CHECK(made != nullptr, "OpenSSL provides HMAC-SHA256");
  return hex(std::span(digest).first(size));
}

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  const bool ok =
      context_ != nullptr && EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_.get()), EVP_sha256(), nullptr) == 1;
  RAILWEAVE_CHECK(ok, "OpenSSL provides SHA-256");
}

void Sha256::add(std::string_view bytes) {
  const int ok = EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_.get()), bytes.data(), bytes.size());
  RAILWEAVE_CHECK(ok == 1, "SHA-256 takes bytes");
}

std::string Sha256::hex() && {
  Digest digest{};
  unsigned size = 0;
  const int ok = EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_.get()), digest.data(), &size);
  RAILWEAVE_CHECK(ok == 1, "SHA-256 ends");
  return api::hex(std::span(digest).first(size));
}

}  // namespace railweave::api
