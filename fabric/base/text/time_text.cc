#include "fabric/base/text/time_text.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace railweave {
namespace {

using namespace std::chrono;

// The digits of a fixed number of places; -1 if any is none.
int digits(std::string_view text, std::size_t from, std::size_t count) {
  int value = 0;
  for (std::size_t i = from; i < from + count; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

bool is_at(std::string_view text, std::size_t at, char c) { return at < text.size() && text[at] == c; }

// "2026-11-21T09:00:00", the first 19 characters.
std::optional<std::int64_t> parse_date_and_clock_us(std::string_view text) {
  const bool separated = is_at(text, 4, '-') && is_at(text, 7, '-') && (is_at(text, 10, 'T') || is_at(text, 10, 't')) &&
                         is_at(text, 13, ':') && is_at(text, 16, ':');
  if (!separated) return std::nullopt;
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (year < 1970 || month < 1 || day < 1) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
  const year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return microseconds(sys_days(date).time_since_epoch() + hours(hour) + minutes(minute) + seconds(second)).count();
}

// "Z", "+01:00": what the clock is ahead of UTC.
std::optional<std::int64_t> parse_offset_us(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || !(text[0] == '+' || text[0] == '-') || text[3] != ':') return std::nullopt;
  const int hour = digits(text, 1, 2), minute = digits(text, 4, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return std::nullopt;
  const std::int64_t offset = microseconds(hours(hour) + minutes(minute)).count();
  return text[0] == '+' ? offset : -offset;
}

struct DurationUnit {
  char letter;
  bool of_time;  // follows the "T"
  std::int64_t seconds;
};
// In the order in which they may come, each once.
constexpr std::array<DurationUnit, 5> kDurationUnits{
    {{'W', false, 7 * 86'400}, {'D', false, 86'400}, {'H', true, 3'600}, {'M', true, 60}, {'S', true, 1}}};

}  // namespace

std::string whole_second_text(std::int64_t unix_us) {
  const auto second = floor<seconds>(sys_time<microseconds>(microseconds(unix_us)));
  const auto day = floor<days>(second);
  const year_month_day date(day);
  const hh_mm_ss clock(second - day);
  char text[48];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

std::string time_text(std::int64_t unix_us) {
  std::string text = whole_second_text(unix_us);
  constexpr std::int64_t kSecond = 1'000'000;
  const std::int64_t fraction = (unix_us % kSecond + kSecond) % kSecond;
  if (fraction == 0) return text;
  char digits[16];
  std::snprintf(digits, sizeof digits, ".%06d", static_cast<int>(fraction));
  return text.insert(text.size() - 1, digits);
}

std::optional<std::int64_t> parse_time_us(std::string_view text) {
  const auto whole = parse_date_and_clock_us(text);
  if (!whole) return std::nullopt;
  std::int64_t us = *whole;
  std::size_t at = 19;
  if (is_at(text, at, '.')) {
    std::int64_t unit = 100'000;  // what is finer than a microsecond is cut off
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10) us += (text[at] - '0') * unit;
    if (text[at - 1] == '.') return std::nullopt;
  }
  const auto offset = parse_offset_us(text.substr(at));
  if (!offset) return std::nullopt;
  return us - *offset;
}

std::optional<std::int64_t> parse_duration_s(std::string_view text) {
  if (!text.starts_with('P') || text.size() < 3) return std::nullopt;
  text.remove_prefix(1);
  constexpr std::int64_t kMaxNumber = 100'000'000;
  std::int64_t total = 0;
  bool in_time = false;
  auto unit = kDurationUnits.begin();  // the first that may still come
  while (!text.empty()) {
    if (text.front() == 'T') {
      if (in_time || text.size() == 1) return std::nullopt;
      in_time = true;
      text.remove_prefix(1);
      continue;
    }
    std::int64_t number = 0;
    std::size_t count = 0;
    for (; count < text.size() && text[count] >= '0' && text[count] <= '9'; ++count) {
      if (number > kMaxNumber) return std::nullopt;
      number = number * 10 + (text[count] - '0');
    }
    if (count == 0 || count == text.size()) return std::nullopt;
    while (unit != kDurationUnits.end() && unit->letter != text[count]) ++unit;
    if (unit == kDurationUnits.end() || unit->of_time != in_time) return std::nullopt;
    total += number * unit->seconds;
    ++unit;
    text.remove_prefix(count + 1);
  }
  return total;
}

std::string duration_text(std::int64_t seconds) {
  std::string text = "PT";
  if (seconds >= 3600) text += std::to_string(seconds / 3600) + "H";
  if (seconds % 3600 >= 60) text += std::to_string(seconds % 3600 / 60) + "M";
  if (seconds % 60 != 0 || seconds == 0) text += std::to_string(seconds % 60) + "S";
  return text;
}

}  // namespace railweave
