#include "api/dto/time_text.h"

#include <chrono>
#include <cstdio>
#include <limits>

namespace railweave::api {

std::string time_text(std::int64_t unix_us) {
  using namespace std::chrono;
  const sys_time<microseconds> time{microseconds(unix_us)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  char text[48];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  std::string result = text;
  if (const auto fraction = clock.subseconds().count(); fraction != 0) {
    std::snprintf(text, sizeof text, ".%06d", static_cast<int>(fraction));
    result += text;
  }
  return result + "Z";
}

std::optional<std::int64_t> parse_duration_s(std::string_view text) {
  if (!text.starts_with('P') || text.size() < 3) return std::nullopt;
  text.remove_prefix(1);
  std::int64_t total = 0;
  bool in_time = false;
  int last_rank = -1;  // units come in order, each once
  while (!text.empty()) {
    if (text.front() == 'T') {
      if (in_time || text.size() == 1) return std::nullopt;
      in_time = true;
      text.remove_prefix(1);
      continue;
    }
    std::int64_t number = 0;
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
      if (number > 100'000'000) return std::nullopt;
      number = number * 10 + (text[digits] - '0');
      ++digits;
    }
    if (digits == 0 || digits == text.size()) return std::nullopt;
    std::int64_t unit = 0;
    int rank = 0;
    switch (text[digits]) {
      case 'W':
        unit = 7 * 86'400;
        rank = 0;
        break;
      case 'D':
        unit = 86'400;
        rank = 1;
        break;
      case 'H':
        unit = 3'600;
        rank = 2;
        break;
      case 'M':
        unit = 60;
        rank = 3;
        break;
      case 'S':
        unit = 1;
        rank = 4;
        break;
      default:
        return std::nullopt;
    }
    if ((rank >= 2) != in_time || rank <= last_rank) return std::nullopt;
    last_rank = rank;
    total += number * unit;
    text.remove_prefix(digits + 1);
  }
  return last_rank < 0 ? std::nullopt : std::optional(total);
}

std::string duration_text(std::int64_t seconds) {
  std::string text = "PT";
  if (seconds >= 3600) text += std::to_string(seconds / 3600) + "H";
  if (seconds % 3600 >= 60) text += std::to_string(seconds % 3600 / 60) + "M";
  if (seconds % 60 != 0 || seconds == 0) text += std::to_string(seconds % 60) + "S";
  return text;
}

}  // namespace railweave::api
