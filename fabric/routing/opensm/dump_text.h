// Reading the text of OpenSM's dumps: lines, and the words and numbers in them. Views into the text; nothing is copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::fabric {

inline constexpr std::size_t kMaxDumpLineBytes = 4096;

// The error for a line that no dump has.
std::unexpected<Error> malformed_dump(std::size_t line, const std::string& what);

// All of the text as a number; hexadecimal ones may begin with 0x. None: it is no number.
std::optional<std::uint64_t> parse_number(std::string_view text, int base);
// Removes the first word of the text and returns it; empty: there is none.
std::string_view take_word(std::string_view& text);
// The text after `key` up to one of the ends; empty: there is no such key.
std::string_view text_after(std::string_view text, std::string_view key, std::string_view ends = " \t");
// The text between the first `open` and the last `close`; empty: there is none.
std::string_view text_between(std::string_view text, char open, char close);

// Calls each(line, its number from 1) with every line, without its line end; stops at the first error.
template <class Each>
Result<void> for_each_line(std::string_view text, Each each) {
  std::size_t count = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++count;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.size() > kMaxDumpLineBytes) return malformed_dump(count, "a line of more than 4,096 bytes");
    if (Result<void> done = each(line, count); !done) return done;
  }
  return {};
}

}  // namespace railweave::fabric
