#include "services/control/codec/prediction_json.h"

#include <cmath>
#include <limits>

namespace railweave::api {
namespace {

using scheduler::CommGroup;
using scheduler::Prediction;

double read_ms(ObjectReader& reader, std::string_view field) {
  const Json* value = reader.take(field);
  if (value == nullptr || value->is_null()) return std::numeric_limits<double>::infinity();
  double time_ms = 0;
  reader.read(field, time_ms);
  return time_ms * 1e3;
}

}  // namespace

Out ms_json(double us) { return std::isfinite(us) ? Out(std::round(us * 1e3) / 1e6) : Out(nullptr); }
Out ms_json(const std::optional<double>& us) { return us ? ms_json(*us) : Out(nullptr); }

Out to_json(const Prediction& prediction) {
  Out by_group = Out::object();
  for (std::size_t g = 0; g < scheduler::kCommGroups; ++g) {
    const double us = prediction.by_group_us[g];
    if (us > 0) by_group[std::string(railweave::to_text(static_cast<CommGroup>(g)))] = ms_json(us);
  }
  return {{"stepMs", ms_json(prediction.step_us)},
          {"communicationMs", ms_json(prediction.communication_us)},
          {"exposedMs", ms_json(prediction.exposed_us)},
          {"byGroup", by_group},
          {"assumed", prediction.assumed},
          {"reachable", prediction.reachable},
          {"generation", prediction.generation}};
}

Result<Prediction> prediction_from_json(const Json& value, const std::string& pointer) {
  Prediction prediction;
  ObjectReader reader(value, pointer);
  const auto optional_ms = [&](std::string_view field) -> std::optional<double> {
    const double us = read_ms(reader, field);
    return std::isfinite(us) ? std::optional(us) : std::nullopt;
  };
  prediction.step_us = optional_ms("stepMs");
  prediction.communication_us = read_ms(reader, "communicationMs");
  prediction.exposed_us = optional_ms("exposedMs");
  if (const Json* groups = reader.take("byGroup"); groups != nullptr) {
    ObjectReader fields(*groups, reader.pointer("byGroup"));
    for (std::size_t g = 0; g < scheduler::kCommGroups; ++g) {
      const auto name = railweave::to_text(static_cast<CommGroup>(g));
      prediction.by_group_us[g] = fields.has(name) ? read_ms(fields, name) : 0;
    }
    if (auto done = fields.finish(); !done) return std::unexpected(done.error());
  }
  reader.read("assumed", prediction.assumed);
  reader.read("reachable", prediction.reachable);
  reader.read("generation", prediction.generation);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return prediction;
}

}  // namespace railweave::api
