// Numbers with a point in texts.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace railweave {

// The number that all of the text is, such as "12", "-0.5" or "8e9" (fixed: without an exponent); none: it is something else, infinite
// or no number.
inline std::optional<double> decimal_number(std::string_view text,
                                            std::chars_format format = std::chars_format::general) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace railweave
