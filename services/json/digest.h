// SHA-256 and HMAC-SHA-256 as 64 lower-case hexadecimal digits.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace railweave::api {

std::string sha256_hex(std::string_view bytes);
std::string hmac_sha256_hex(std::string_view secret, std::string_view message);

// SHA-256 of what comes in pieces.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  [[nodiscard]] std::string hex() &&;  // the end

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

}  // namespace railweave::api
