#include "services/control/codec/model_json.h"

#include <array>
#include <utility>

namespace railweave::api {
namespace {

using scheduler::GradientExchange;
using scheduler::GroupTraffic;
using scheduler::MixtureOfExperts;
using scheduler::ModelSpec;
using scheduler::Precision;
using scheduler::Sharding;
using scheduler::TrafficSpec;

template <class Value, std::size_t n>
using Names = std::array<std::pair<std::string_view, Value>, n>;
constexpr Names<Precision, 3> kPrecisions{
    {{"fp32", Precision::fp32}, {"bf16", Precision::bf16}, {"fp8", Precision::fp8}}};
constexpr Names<Sharding, 3> kShardings{
    {{"none", Sharding::none}, {"optimizer", Sharding::optimizer}, {"parameters", Sharding::parameters}}};
constexpr Names<GradientExchange, 3> kExchanges{{{"rings", GradientExchange::rings},
                                                 {"parameterServers", GradientExchange::parameter_servers},
                                                 {"inNetwork", GradientExchange::in_network}}};
constexpr Names<double ModelSpec::*, 5> kOverlaps{{{"tensor", &ModelSpec::overlap_tensor},
                                                   {"context", &ModelSpec::overlap_context},
                                                   {"expert", &ModelSpec::overlap_expert},
                                                   {"data", &ModelSpec::overlap_data},
                                                   {"pipeline", &ModelSpec::overlap_pipeline}}};
constexpr Names<GroupTraffic TrafficSpec::*, 6> kGroups{{{"tensor", &TrafficSpec::tensor},
                                                         {"context", &TrafficSpec::context},
                                                         {"expert", &TrafficSpec::expert},
                                                         {"data", &TrafficSpec::data},
                                                         {"expertData", &TrafficSpec::expert_data},
                                                         {"pipeline", &TrafficSpec::pipeline}}};

template <class Value, std::size_t n>
void read_named(ObjectReader& reader, std::string_view field, const Names<Value, n>& names, Value& into) {
  std::optional<std::string> text;
  reader.read(field, text);
  if (!text) return;
  std::string known;
  for (const auto& [name, value] : names) {
    if (*text == name) {
      into = value;
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  reader.set_error(field, "there is no " + shown(*text) + " here", "one of " + known);
}

template <class Value, std::size_t n>
std::string_view name_of(Value value, const Names<Value, n>& names) {
  for (const auto& [name, candidate] : names) {
    if (candidate == value) return name;
  }
  return "";
}

void read_experts(ObjectReader& reader, ModelSpec& model) {
  const Json* value = reader.take("experts");
  if (value == nullptr || value->is_null()) return;
  ObjectReader fields(*value, reader.pointer("experts"));
  MixtureOfExperts experts;
  fields.require("count");
  fields.read("count", experts.experts);
  fields.read("perToken", experts.experts_per_token);
  fields.require("parameters");
  fields.read("parameters", experts.expert_parameters);
  fields.read("every", experts.every);
  if (auto done = fields.finish(); !done) return reader.set_error(done.error());
  model.experts = experts;
}

void read_overlap(ObjectReader& reader, ModelSpec& model) {
  const Json* value = reader.take("overlap");
  if (value == nullptr) return;
  ObjectReader fields(*value, reader.pointer("overlap"));
  for (const auto& [name, member] : kOverlaps) fields.read(name, model.*member);
  if (auto done = fields.finish(); !done) reader.set_error(done.error());
}

}  // namespace

Result<ModelSpec> model_from_json(const Json& value, const std::string& pointer) {
  ModelSpec model;
  ObjectReader reader(value, pointer);
  for (const char* field : {"parameters", "layers", "hiddenSize", "sequenceLength", "globalBatchSize"}) {
    reader.require(field);
  }
  reader.read("name", model.name);
  reader.read("parameters", model.parameters);
  reader.read("layers", model.layers);
  reader.read("hiddenSize", model.hidden_size);
  reader.read("sequenceLength", model.sequence_length);
  reader.read("microBatchSize", model.micro_batch);
  reader.read("globalBatchSize", model.global_batch);
  reader.read("kvFraction", model.kv_fraction);
  read_named(reader, "precision", kPrecisions, model.precision);
  read_named(reader, "gradientPrecision", kPrecisions, model.gradient_precision);
  read_experts(reader, model);
  read_named(reader, "sharding", kShardings, model.sharding);
  reader.read("virtualStages", model.virtual_stages);
  reader.read("recompute", model.recompute);
  reader.read("gradientCompression", model.gradient_compression);
  reader.read("synchroniseEvery", model.synchronise_every);
  read_named(reader, "gradientExchange", kExchanges, model.exchange);
  reader.read("parameterServers", model.parameter_servers);
  read_overlap(reader, model);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return model;
}

Out to_json(const ModelSpec& model) {
  const ModelSpec usual;
  Out value = Out::object();
  const auto put = [&](const char* name, const auto& given, const auto& by_default) {
    if (given != by_default) value[name] = given;
  };
  put("name", model.name, usual.name);
  value["parameters"] = model.parameters;
  value["layers"] = model.layers;
  value["hiddenSize"] = model.hidden_size;
  value["sequenceLength"] = model.sequence_length;
  value["microBatchSize"] = model.micro_batch;
  value["globalBatchSize"] = model.global_batch;
  value["precision"] = name_of(model.precision, kPrecisions);
  if (model.gradient_precision != usual.gradient_precision) {
    value["gradientPrecision"] = name_of(model.gradient_precision, kPrecisions);
  }
  put("kvFraction", model.kv_fraction, usual.kv_fraction);
  if (model.experts) {
    value["experts"] = {{"count", model.experts->experts},
                        {"perToken", model.experts->experts_per_token},
                        {"parameters", model.experts->expert_parameters},
                        {"every", model.experts->every}};
  }
  if (model.sharding != usual.sharding) value["sharding"] = name_of(model.sharding, kShardings);
  put("virtualStages", model.virtual_stages, usual.virtual_stages);
  put("recompute", model.recompute, usual.recompute);
  put("gradientCompression", model.gradient_compression, usual.gradient_compression);
  put("synchroniseEvery", model.synchronise_every, usual.synchronise_every);
  if (model.exchange != usual.exchange) value["gradientExchange"] = name_of(model.exchange, kExchanges);
  put("parameterServers", model.parameter_servers, usual.parameter_servers);
  for (const auto& [name, member] : kOverlaps) {
    if (model.*member != usual.*member) value["overlap"][std::string(name)] = model.*member;
  }
  return value;
}

Result<TrafficSpec> traffic_from_json(const Json& value, const std::string& pointer) {
  TrafficSpec traffic;
  ObjectReader reader(value, pointer);
  for (const auto& [name, member] : kGroups) {
    const Json* group = reader.take(name);
    if (group == nullptr) continue;
    ObjectReader fields(*group, reader.pointer(name));
    GroupTraffic& into = traffic.*member;
    fields.require("bytesPerStep");
    fields.read("bytesPerStep", into.bytes);
    into.calls = 1;
    fields.read("callsPerStep", into.calls);
    read_named(fields, "exchange", kExchanges, into.exchange);
    fields.read("servers", into.servers);
    if (auto done = fields.finish(); !done) reader.set_error(done.error());
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return traffic;
}

Out to_json(const TrafficSpec& traffic) {
  Out value = Out::object();
  for (const auto& [name, member] : kGroups) {
    const GroupTraffic& group = traffic.*member;
    if (group == GroupTraffic{}) continue;
    Out& of = value[std::string(name)];
    of = {{"bytesPerStep", group.bytes}, {"callsPerStep", group.calls}};
    if (group.exchange != GradientExchange::rings) of["exchange"] = name_of(group.exchange, kExchanges);
    if (group.servers > 1) of["servers"] = group.servers;
  }
  return value;
}

}  // namespace railweave::api
