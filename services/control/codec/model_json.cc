#include "services/control/codec/model_json.h"

#include <utility>

#include "services/json/record.h"

namespace railweave::api {
namespace {

using scheduler::GradientExchange;
using scheduler::GroupTraffic;
using scheduler::MixtureOfExperts;
using scheduler::ModelSpec;
using scheduler::Precision;
using scheduler::Sharding;
using scheduler::TrafficSpec;

constexpr Names<Precision, 3> kPrecisions{
    {{"fp32", Precision::fp32}, {"bf16", Precision::bf16}, {"fp8", Precision::fp8}}};
constexpr Names<Sharding, 3> kShardings{
    {{"none", Sharding::none}, {"optimizer", Sharding::optimizer}, {"parameters", Sharding::parameters}}};
constexpr Names<GradientExchange, 3> kExchanges{{{"rings", GradientExchange::rings},
                                                 {"parameterServers", GradientExchange::parameter_servers},
                                                 {"inNetwork", GradientExchange::in_network}}};
constexpr Names<GroupTraffic TrafficSpec::*, 6> kGroups{{{"tensor", &TrafficSpec::tensor},
                                                         {"context", &TrafficSpec::context},
                                                         {"expert", &TrafficSpec::expert},
                                                         {"data", &TrafficSpec::data},
                                                         {"expertData", &TrafficSpec::expert_data},
                                                         {"pipeline", &TrafficSpec::pipeline}}};

constexpr std::tuple kExpertFields{
    required_field("count", &MixtureOfExperts::experts), field("perToken", &MixtureOfExperts::experts_per_token),
    required_field("parameters", &MixtureOfExperts::expert_parameters), field("every", &MixtureOfExperts::every)};
constexpr std::tuple kModelFields{
    optional_field("name", &ModelSpec::name),
    required_field("parameters", &ModelSpec::parameters),
    required_field("layers", &ModelSpec::layers),
    required_field("hiddenSize", &ModelSpec::hidden_size),
    required_field("sequenceLength", &ModelSpec::sequence_length),
    field("microBatchSize", &ModelSpec::micro_batch),
    required_field("globalBatchSize", &ModelSpec::global_batch),
    field("precision", &ModelSpec::precision, OneOf{kPrecisions, "precision"}),
    optional_field("gradientPrecision", &ModelSpec::gradient_precision, OneOf{kPrecisions, "precision"}),
    optional_field("kvFraction", &ModelSpec::kv_fraction),
    optional_field("experts", &ModelSpec::experts,
                   Embedded{[](const MixtureOfExperts& experts) { return fields_json(experts, kExpertFields); },
                            [](const Json& value, const std::string& pointer) {
                              return record_from_json<MixtureOfExperts>(value, pointer, kExpertFields);
                            }}),
    optional_field("sharding", &ModelSpec::sharding, OneOf{kShardings, "sharding"}),
    optional_field("virtualStages", &ModelSpec::virtual_stages),
    optional_field("recompute", &ModelSpec::recompute),
    optional_field("gradientCompression", &ModelSpec::gradient_compression),
    optional_field("synchroniseEvery", &ModelSpec::synchronise_every),
    optional_field("gradientExchange", &ModelSpec::exchange, OneOf{kExchanges, "exchange"}),
    optional_field("parameterServers", &ModelSpec::parameter_servers)};
constexpr std::tuple kOverlapFields{
    optional_field("tensor", &ModelSpec::overlap_tensor), optional_field("context", &ModelSpec::overlap_context),
    optional_field("expert", &ModelSpec::overlap_expert), optional_field("data", &ModelSpec::overlap_data),
    optional_field("pipeline", &ModelSpec::overlap_pipeline)};
constexpr std::tuple kTrafficFields{required_field("bytesPerStep", &GroupTraffic::bytes),
                                    field("callsPerStep", &GroupTraffic::calls),
                                    optional_field("exchange", &GroupTraffic::exchange, OneOf{kExchanges, "exchange"}),
                                    optional_field("servers", &GroupTraffic::servers)};

void read_overlap(ObjectReader& reader, ModelSpec& model) {
  const Json* value = reader.take("overlap");
  if (value == nullptr) return;
  ObjectReader fields(*value, reader.pointer("overlap"));
  read_fields(fields, model, kOverlapFields);
  if (auto done = fields.finish(); !done) reader.set_error(done.error());
}

}  // namespace

Result<ModelSpec> model_from_json(const Json& value, const std::string& pointer) {
  ModelSpec model;
  ObjectReader reader(value, pointer);
  read_fields(reader, model, kModelFields);
  read_overlap(reader, model);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return model;
}

Out to_json(const ModelSpec& model) {
  Out value = fields_json(model, kModelFields);
  if (Out overlap = fields_json(model, kOverlapFields); !overlap.empty()) value["overlap"] = std::move(overlap);
  return value;
}

Result<TrafficSpec> traffic_from_json(const Json& value, const std::string& pointer) {
  TrafficSpec traffic;
  ObjectReader reader(value, pointer);
  for (const auto& [name, member] : kGroups) {
    const Json* group = reader.take(name);
    if (group == nullptr) continue;
    auto read = record_from_json(*group, reader.pointer(name), kTrafficFields, GroupTraffic{.calls = 1});
    if (!read) {
      reader.set_error(read.error());
    } else {
      traffic.*member = *read;
    }
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return traffic;
}

Out to_json(const TrafficSpec& traffic) {
  Out value = Out::object();
  for (const auto& [name, member] : kGroups) {
    const GroupTraffic& group = traffic.*member;
    if (group == GroupTraffic{}) continue;
    value[std::string(name)] = fields_json(group, kTrafficFields);
  }
  return value;
}

}  // namespace railweave::api
