// Private to this folder: the chunked transfer coding as it is written.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace railweave::api {

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// `bytes` must not be empty: an empty chunk is the last.
inline void append_chunk(std::string& out, std::string_view bytes) {
  std::array<char, 32> size{};
  const int length = std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  out.append(size.data(), static_cast<std::size_t>(length));
  out += bytes;
  out += "\r\n";
}

}  // namespace railweave::api
