#include "services/webhooks/signature.h"

#include "services/json/digest.h"

namespace railweave::webhooks {

std::string signature(std::string_view secret, std::int64_t time_s, std::string_view body) {
  const std::string time = std::to_string(time_s);
  std::string message = time + ".";
  message += body;
  return "t=" + time + ",v1=" + api::hmac_sha256_hex(secret, message);
}

}  // namespace railweave::webhooks
