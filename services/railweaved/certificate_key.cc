#include "services/railweaved/certificate_key.h"

#include "services/railweaved/secret_file.h"

namespace railweave {

Result<std::shared_ptr<const api::SigningKey>> read_certificate_key(const std::filesystem::path& file) {
  if (file.empty()) return nullptr;
  const auto pem = read_secret_file({.file = file,
                                     .code = "config.certificateKey",
                                     .what = "the key of certificates",
                                     .hint = "openssl genpkey -algorithm ed25519 -out FILE makes one"});
  if (!pem) return std::unexpected(pem.error());
  auto key = api::SigningKey::from_pem(*pem);
  if (!key) key.error().location = file.string();
  return key;
}

}  // namespace railweave
