// Numbers in texts.
#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <optional>
#include <string_view>

namespace railweave {

// The integer that all of the text is, in digits of `base` without a prefix, from the least of its type ("-" where that has a sign) to
// `most`; none: it is something else.
template <std::integral Number>
std::optional<Number> whole_number(std::string_view text, Number most = std::numeric_limits<Number>::max(),
                                   int base = 10) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

}  // namespace railweave
