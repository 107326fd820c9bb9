#include "services/railweave/lab/plan/prices.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "fabric/base/decimal_number.h"
#include "services/railweave/lab/flows/file_fields.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr double kHoursOfYear = 8'766;
constexpr double kMaxPrice = 1e9, kMaxYears = 100, kMaxOverhead = 100;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 16U;

struct Field {
  const char* name;
  double Prices::* value;
  double most;
};
constexpr std::array kFields = {Field{"gpu", &Prices::gpu, kMaxPrice},
                                Field{"rackGpu", &Prices::rack_gpu, kMaxPrice},
                                Field{"host", &Prices::host, kMaxPrice},
                                Field{"adapter", &Prices::adapter, kMaxPrice},
                                Field{"switchPort", &Prices::switch_port, kMaxPrice},
                                Field{"hostCable", &Prices::host_cable, kMaxPrice},
                                Field{"switchCable", &Prices::switch_cable, kMaxPrice},
                                Field{"nvlinkGpu", &Prices::nvlink_gpu, kMaxPrice},
                                Field{"years", &Prices::years, kMaxYears},
                                Field{"overhead", &Prices::overhead, kMaxOverhead}};

Json fields_of(std::string_view text) {
  Json object = Json::object();
  while (!text.empty()) {
    const auto one = text.substr(0, text.find(','));
    const auto equals = one.find('=');
    const auto value = decimal_number(equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1));
    if (!value) {
      fail_usage("--prices: '" + std::string(one) + "' is not NAME=NUMBER", "such as gpu=25000,switchPort=500");
    }
    object[std::string(one.substr(0, equals))] = *value;
    text.remove_prefix(one.size() < text.size() ? one.size() + 1 : text.size());
  }
  return object;
}

}  // namespace

double Prices::of_hour(double total) const { return total * (1 + overhead) / (years * kHoursOfYear); }

Prices read_prices(const std::string& text) {
  Prices prices;
  if (text.empty()) return prices;
  const bool is_fields = text.find('=') != std::string::npos;
  const Json object = is_fields ? fields_of(text) : read_json_file(text, kMaxFileBytes);
  FileFields fields(object, is_fields ? "--prices" : text);
  for (const Field& field : kFields) {
    prices.*field.value = fields.number(field.name, 0, field.most, prices.*field.value);
  }
  fields.finish();
  if (prices.years <= 0) fail_usage("--prices: years is 0", "years of use, such as 4");
  return prices;
}

Json prices_json(const Prices& prices) {
  Json object = Json::object();
  for (const Field& field : kFields) object[field.name] = prices.*field.value;
  return object;
}

}  // namespace railweave::cli
