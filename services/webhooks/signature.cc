#include "services/webhooks/signature.h"

#include <array>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "fabric/base/check.h"

namespace railweave::webhooks {

std::string signature(std::string_view secret, std::int64_t time_s, std::string_view body) {
  const std::string time = std::to_string(time_s);
  std::string message = time + ".";
  message += body;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const auto* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                          reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(), &size);
  RAILWEAVE_CHECK(made != nullptr, "OpenSSL provides HMAC-SHA256");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "t=" + time + ",v1=";
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4U];
    text += kDigits[digest[i] & 15U];
  }
  return text;
}

}  // namespace railweave::webhooks
