#include "services/control/codec/prediction_json.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "services/json/record.h"

namespace railweave::api {
namespace {

using scheduler::AssumedAlgorithm;
using scheduler::CommGroup;
using scheduler::Prediction;

// Microseconds as milliseconds; null or absent: unknown, or infinite where traffic has no route.
struct Milliseconds {
  static void read(ObjectReader& reader, std::string_view name, double& into_us) {
    into_us = std::numeric_limits<double>::infinity();
    const Json* value = reader.take(name);
    if (value == nullptr || value->is_null()) return;
    double time_ms = 0;
    reader.read(name, time_ms);
    into_us = time_ms * 1e3;
  }
  static void read(ObjectReader& reader, std::string_view name, std::optional<double>& into_us) {
    double us = 0;
    read(reader, name, us);
    into_us = std::isfinite(us) ? std::optional(us) : std::nullopt;
  }
  template <class Value>
  static Out write(const Value& us) {
    return ms_json(us);
  }
};

// An object with a time for each group that communicates.
struct TimesByGroup {
  using Times = std::array<double, scheduler::kCommGroups>;

  static void read(ObjectReader& reader, std::string_view name, Times& into_us) {
    const Json* groups = reader.take(name);
    if (groups == nullptr) return;
    ObjectReader fields(*groups, reader.pointer(name));
    for (std::size_t g = 0; g < into_us.size(); ++g) {
      const auto group = railweave::to_text(static_cast<CommGroup>(g));
      into_us[g] = 0;
      if (fields.has(group)) Milliseconds::read(fields, group, into_us[g]);
    }
    if (auto done = fields.finish(); !done) reader.set_error(done.error());
  }
  static Out write(const Times& times_us) {
    Out value = Out::object();
    for (std::size_t g = 0; g < times_us.size(); ++g) {
      if (times_us[g] > 0) value[std::string(railweave::to_text(static_cast<CommGroup>(g)))] = ms_json(times_us[g]);
    }
    return value;
  }
};

constexpr std::tuple kPredictionFields{field("stepMs", &Prediction::step_us, Milliseconds{}),
                                       field("communicationMs", &Prediction::communication_us, Milliseconds{}),
                                       field("exposedMs", &Prediction::exposed_us, Milliseconds{}),
                                       field("byGroup", &Prediction::by_group_us, TimesByGroup{}),
                                       field("assumed", &Prediction::assumed),
                                       field("reachable", &Prediction::reachable),
                                       field("generation", &Prediction::generation)};

// Journals of earlier versions have none.
void read_algorithms(ObjectReader& reader, Prediction& prediction) {
  const Json* groups = reader.take("algorithms");
  if (groups == nullptr) return;
  ObjectReader fields(*groups, reader.pointer("algorithms"));
  for (std::size_t g = 0; g < prediction.algorithms.size(); ++g) {
    std::optional<std::string> name;
    const auto group = railweave::to_text(static_cast<CommGroup>(g));
    fields.read_text(group, name);
    if (!name) continue;
    const auto known = parse_enum<AssumedAlgorithm>(*name);
    if (!known) fields.set_error(group, "there is no algorithm " + shown(*name));
    prediction.algorithms[g] = known.value_or(AssumedAlgorithm::none);
  }
  if (auto done = fields.finish(); !done) reader.set_error(done.error());
}

}  // namespace

Out ms_json(double us) { return std::isfinite(us) ? Out(std::round(us * 1e3) / 1e6) : Out(nullptr); }
Out ms_json(const std::optional<double>& us) { return us ? ms_json(*us) : Out(nullptr); }

Out to_json(const Prediction& prediction) {
  Out value = fields_json(prediction, kPredictionFields);
  for (std::size_t g = 0; g < prediction.algorithms.size(); ++g) {
    if (prediction.algorithms[g] == AssumedAlgorithm::none) continue;
    value["algorithms"][std::string(railweave::to_text(static_cast<CommGroup>(g)))] =
        railweave::to_text(prediction.algorithms[g]);
  }
  if (prediction.most_us > 0) {
    value["leastMs"] = ms_json(prediction.least_us);
    value["mostMs"] = ms_json(prediction.most_us);
  }
  return value;
}

Result<Prediction> prediction_from_json(const Json& value, const std::string& pointer) {
  Prediction prediction;
  ObjectReader reader(value, pointer);
  read_fields(reader, prediction, kPredictionFields);
  read_algorithms(reader, prediction);
  if (reader.has("leastMs")) Milliseconds::read(reader, "leastMs", prediction.least_us);
  if (reader.has("mostMs")) Milliseconds::read(reader, "mostMs", prediction.most_us);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return prediction;
}

}  // namespace railweave::api
