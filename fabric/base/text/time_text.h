// Times and durations as the contract, the journal and messages write them: RFC 3339 in UTC and ISO 8601 durations.
// Times are microseconds since 1970-01-01T00:00:00Z, durations seconds. Pure: calendars of <chrono>, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace railweave {

// 1700000000000000 -> "2023-11-14T22:13:20Z"; with six digits of a second where it is not whole.
std::string time_text(std::int64_t unix_us);
// The same cut to whole seconds, for messages.
std::string whole_second_text(std::int64_t unix_us);
// RFC 3339 from 1970 on, with "Z" or an offset: "2026-11-21T09:00:00Z", "2026-11-21T10:00:00.5+01:00".
std::optional<std::int64_t> parse_time_us(std::string_view text);

// "PT36H", "P1DT12H30M", "PT90S" -> seconds. Weeks, days, hours, minutes, seconds; no months or years, whose length
// differs.
std::optional<std::int64_t> parse_duration_s(std::string_view text);
std::string duration_text(std::int64_t seconds);  // "PT36H"

}  // namespace railweave
