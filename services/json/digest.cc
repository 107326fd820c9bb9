#include "services/json/digest.h"

#include <array>

#include <openssl/evp.h>

#include "fabric/base/check.h"

namespace railweave::api {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  RAILWEAVE_CHECK(ok == 1, "OpenSSL provides SHA-256");
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2UL * size);
  for (unsigned i = 0; i < size; ++i) {
    text += digits[digest[i] >> 4U];
    text += digits[digest[i] & 15U];
  }
  return text;
}

}  // namespace railweave::api
