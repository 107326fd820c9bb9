#include "services/railweaved/management_key_file.h"

#include <sstream>
#include <string_view>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "services/json/digest.h"
#include "services/railweaved/secret_file.h"

namespace railweave {
namespace {

constexpr std::size_t kMinDigits = 32, kMaxSecrets = 16;
constexpr const char* kCode = "config.keyFile";
constexpr const char* kHint = "(umask 077; openssl rand -hex 32 > FILE) makes one";

std::uint64_t derive(const std::string& secret, Guid device, std::uint64_t generation) {
  std::string about;
  for (const std::uint64_t value : {device.value(), generation}) {
    for (int shift = 56; shift >= 0; shift -= 8) about += static_cast<char>(value >> shift & 0xffU);
  }
  const std::uint64_t key = std::stoull(api::hmac_sha256_hex(secret, about).substr(0, 16), nullptr, 16);
  return key == 0 ? 1 : key;  // 0 is no key
}

}  // namespace

namespace {

// One key alone, 0x allowed.
Result<std::uint64_t> read_one_key(const std::string& file, const std::string& what, const char* hint) {
  const auto text = read_secret_file({.file = file, .code = kCode, .what = what, .hint = hint});
  if (!text) return std::unexpected(text.error());
  std::string_view digits(*text);
  while (!digits.empty() && (digits.back() == '\n' || digits.back() == ' ')) digits.remove_suffix(1);
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  const auto key = whole_number<std::uint64_t>(digits, UINT64_MAX, 16);
  if (!key || *key == 0) return fail(ErrorKind::invalid, kCode, what + " holds no key", file, hint);
  return *key;
}

}  // namespace

Result<fabric::ManagementKeyOptions> read_opensm_key(const std::string& file) {
  const auto key = read_one_key(file, "the file of OpenSM's m_key",
                                "one line: the value of m_key in OpenSM's options, 0x and up to 16 hexadecimal digits");
  if (!key) return std::unexpected(key.error());
  fabric::ManagementKeyOptions keys;
  keys.secrets.emplace_back([key = *key](Guid, std::uint64_t) { return key; });
  return keys;
}

Result<std::uint64_t> read_administration_key(const std::string& file) {
  return read_one_key(
      file, "the file of the administration's key",
      "one line: 0x and up to 16 hexadecimal digits; (umask 077; openssl rand -hex 8 > FILE) makes one");
}

Result<fabric::ManagementKeyOptions> read_management_keys(const std::string& file) {
  const auto text =
      read_secret_file({.file = file, .code = kCode, .what = "the file of management keys", .hint = kHint});
  if (!text) return std::unexpected(text.error());
  fabric::ManagementKeyOptions keys;
  std::istringstream lines(*text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    const bool is_hex = line.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    if (!is_hex || line.size() < kMinDigits || keys.secrets.size() == kMaxSecrets) {
      return fail(ErrorKind::invalid, kCode,
                  "a secret has at least 32 hexadecimal digits, and a file at most 16 secrets",
                  fmt::format("{}: line {}", file, number), kHint);
    }
    keys.secrets.emplace_back(
        [line](Guid device, std::uint64_t generation) { return derive(line, device, generation); });
  }
  if (!keys.are_on()) return fail(ErrorKind::invalid, kCode, "the file of management keys has no secret", file, kHint);
  return keys;
}

}  // namespace railweave
