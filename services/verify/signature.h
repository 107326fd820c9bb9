// Signatures and digests by OpenSSL. Throws std::exception where a file is not what it should be.
#pragma once

#include <memory>
#include <string>

#include "services/verify/verdict.h"

namespace railweave::verify {

// SHA-256, fed piece by piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(const std::string& bytes);
  [[nodiscard]] std::string hex();  // once, at the end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether the text ends with a line that is only its signature.
bool is_signed(const std::string& certificate);
// A fault unless the certificate is signed, as certificate.md says, by the key in this PEM file.
void check_signature(const std::string& certificate, const std::string& public_key_file, Verdict& verdict);

}  // namespace railweave::verify
