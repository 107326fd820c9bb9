// An Ed25519 key that signs documents (RFC 8032), by OpenSSL. Immutable, thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::api {

class SigningKey {
 public:
  // A private key in PEM (PKCS#8), without a passphrase. Error "key.notEd25519".
  static Result<std::shared_ptr<const SigningKey>> from_pem(std::string_view pem);

  // 64 bytes in base64.
  [[nodiscard]] std::string sign(std::string_view bytes) const;
  [[nodiscard]] const std::string& public_pem() const { return public_pem_; }  // SubjectPublicKeyInfo
  [[nodiscard]] const std::string& id() const { return id_; }                  // SHA-256 of its 32 bytes, hexadecimal

  class Secret;  // OpenSSL's
  SigningKey(std::shared_ptr<const Secret> secret, std::string public_pem, std::string id);

 private:
  std::shared_ptr<const Secret> secret_;
  std::string public_pem_, id_;
};

}  // namespace railweave::api
