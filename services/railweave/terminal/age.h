// How long ago times of the service are, for people: "12s", "5m", "3h", "41d". By the clock of this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

std::string age_text(std::int64_t us);
// "-" where the object has no such time.
std::string age_of(const Json& object, FieldName name);
// "2026-11-21T09:00:00Z (3h ago)"; the time alone where it is still to come.
std::string time_and_age_of(const Json& object, FieldName name);

// A time in the past as users write it: RFC 3339, or how long ago as "90s", "10m", "2h", "7d" or "PT36H".
std::optional<std::int64_t> past_time_us(std::string_view text);

// "90s", "10m", "2h", "7d" or "PT36H", in seconds.
std::optional<std::int64_t> span_s(std::string_view text);

}  // namespace railweave::cli
