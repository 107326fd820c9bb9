#include "services/json/time_text.h"

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

std::optional<std::int64_t> parse_time_us(std::string_view text) {
  using namespace std::chrono;
  const auto digits = [&](std::size_t from, std::size_t count) -> int {
    int value = 0;
    for (std::size_t i = from; i < from + count; ++i) {
      if (i >= text.size() || text[i] < '0' || text[i] > '9') return -1;
      value = value * 10 + (text[i] - '0');
    }
    return value;
  };
  const auto is = [&](std::size_t at, char c) { return at < text.size() && text[at] == c; };
  if (text.size() < 20 || !is(4, '-') || !is(7, '-') || !(is(10, 'T') || is(10, 't')) || !is(13, ':') || !is(16, ':')) {
    return std::nullopt;
  }
  const int year = digits(0, 4);
  const int month = digits(5, 2);
  const int day = digits(8, 2);
  const int hour = digits(11, 2);
  const int minute = digits(14, 2);
  const int second = digits(17, 2);
  const year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  const bool clock = hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
  if (year < 1970 || month < 1 || day < 1 || !date.ok() || !clock) return std::nullopt;
  std::int64_t us = duration_cast<microseconds>(sys_days(date).time_since_epoch()).count() +
                    ((hour * 60LL + minute) * 60 + second) * 1'000'000;
  std::size_t at = 19;
  if (is(at, '.')) {
    std::int64_t unit = 100'000;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10) us += (text[at] - '0') * unit;
    if (text[at - 1] == '.') return std::nullopt;
  }
  if (at + 1 == text.size() && (text[at] == 'Z' || text[at] == 'z')) return us;
  if (at + 6 != text.size() || !(text[at] == '+' || text[at] == '-') || text[at + 3] != ':') return std::nullopt;
  const int hours = digits(at + 1, 2);
  const int minutes = digits(at + 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const std::int64_t offset = (hours * 60LL + minutes) * 60'000'000;
  return text[at] == '+' ? us - offset : us + offset;
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
