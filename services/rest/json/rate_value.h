// Rates as the API writes them: decimal Gb/s. For answers alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/units.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

inline double gbps_of(std::int64_t mbps) { return static_cast<double>(mbps) / 1000; }
inline double gbps_of(RateMbps rate) { return gbps_of(rate.value()); }

// nullopt: the field is absent, or is no rate and the reader has an error.
std::optional<RateMbps> read_gbps(ObjectReader& reader, std::string_view field);

std::string pkey_text(std::uint16_t pkey);  // "0x0012"

}  // namespace railweave::api
