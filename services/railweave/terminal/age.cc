#include "services/railweave/terminal/age.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "fabric/base/whole_number.h"

namespace railweave::cli {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

struct Unit {
  char letter;
  std::int64_t seconds;
};
constexpr std::array kUnits{Unit{'d', 86'400}, Unit{'h', 3'600}, Unit{'m', 60}, Unit{'s', 1}};

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::optional<std::int64_t> span_s(std::string_view text) {
  if (text.size() < 2) return parse_duration_s(text);
  const auto unit = std::ranges::find(kUnits, text.back(), &Unit::letter);
  const auto count = whole_number<std::uint32_t>(text.substr(0, text.size() - 1));
  if (unit == kUnits.end() || !count) return parse_duration_s(text);
  return *count * unit->seconds;
}

std::string age_text(std::int64_t us) {
  const std::int64_t seconds = std::max<std::int64_t>(us / kSecondUs, 0);  // clocks differ a little
  for (const auto& [letter, of_unit] : kUnits) {
    if (seconds >= of_unit) return fmt::format("{}{}", seconds / of_unit, letter);
  }
  return "0s";
}

std::string age_of(const Json& object, FieldName name) {
  const auto time = parse_time_us(text_of(object, name));
  return time ? age_text(now_us() - *time) : "-";
}

std::string time_and_age_of(const Json& object, FieldName name) {
  const auto time = parse_time_us(text_of(object, name));
  const std::string text = time_of(object, name);
  return time && *time <= now_us() ? text + " (" + age_text(now_us() - *time) + " ago)" : text;
}

std::optional<std::int64_t> past_time_us(std::string_view text) {
  if (const auto time = parse_time_us(text)) return time;
  const auto seconds = span_s(text);
  const std::int64_t now = now_us();
  if (!seconds || *seconds > now / kSecondUs) return std::nullopt;
  return now - *seconds * kSecondUs;
}

}  // namespace railweave::cli
