#include "services/rest/json/rate_value.h"

#include <cmath>

#include <fmt/core.h>

namespace railweave::api {

std::string pkey_text(std::uint16_t pkey) { return fmt::format("{:#06x}", pkey); }

std::optional<RateMbps> read_gbps(ObjectReader& reader, std::string_view field) {
  if (!reader.has(field)) return std::nullopt;
  const double most = 1'000'000;
  double gbps = 0;
  reader.read(field, gbps);
  if (gbps < 0 || gbps > most) reader.set_error(field, "must be a rate from 0 to 1000000 Gb/s");
  return reader.failed() ? std::nullopt : std::optional(RateMbps(std::llround(gbps * 1000)));
}

}  // namespace railweave::api
