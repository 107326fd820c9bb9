// Times and durations as the contract writes them: RFC 3339 UTC and ISO 8601 durations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace railweave::api {

// 1700000000000000 -> "2023-11-14T22:13:20.000000Z"; whole seconds without a fraction.
std::string time_text(std::int64_t unix_us);
// RFC 3339 with "Z" or an offset: "2026-11-21T09:00:00Z", "2026-11-21T10:00:00.5+01:00".
std::optional<std::int64_t> parse_time_us(std::string_view text);

// "PT36H", "P1DT12H30M", "PT90S" -> seconds. Weeks, days, hours, minutes, seconds; no months or years, whose length
// differs.
std::optional<std::int64_t> parse_duration_s(std::string_view text);
std::string duration_text(std::int64_t seconds);  // "PT36H"

}  // namespace railweave::api
