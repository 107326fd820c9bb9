#include "services/railweave/support/tar_archive.h"

#include <array>
#include <cstddef>
#include <utility>

namespace railweave::cli {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kChecksumAt = 148, kChecksumSize = 8;

// In digits, with a zero byte after them where the field has room for it.
std::string octal(std::uint64_t value, std::size_t digits) {
  constexpr unsigned kBits = 3;
  std::string out(digits, '0');
  for (auto digit = out.rbegin(); digit != out.rend() && value != 0; ++digit, value >>= kBits) {
    *digit = static_cast<char>('0' + (value & ((1U << kBits) - 1)));
  }
  return out;
}

void pad(std::string& bytes) { bytes.append((kBlock - bytes.size() % kBlock) % kBlock, '\0'); }

}  // namespace

void TarArchive::add(std::string_view name, std::string_view content) {
  std::string header(name.substr(0, kMaxName));
  header.resize(kMaxName + 1);
  const auto put = [&](std::string field, std::size_t size) {
    field.resize(size);
    header += field;
  };
  put("0000600", 8);  // mode: of whoever unpacks it alone
  put("0000000", 8);  // user
  put("0000000", 8);  // group
  put(octal(content.size(), 11), 12);
  put(octal(static_cast<std::uint64_t>(time_s_), 11), 12);
  put(std::string(kChecksumSize, ' '), kChecksumSize);
  put("0", 1);  // a regular file
  put("", 100);
  put("ustar", 6);
  put("00", 2);
  pad(header);
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  header.replace(kChecksumAt, kChecksumSize, octal(sum, 6) + std::string("\0 ", 2));
  bytes_ += header;
  bytes_ += content;
  pad(bytes_);
}

std::string TarArchive::take() {
  bytes_.append(2 * kBlock, '\0');
  return std::move(bytes_);
}

}  // namespace railweave::cli
