#include "scheduler/collective/traffic.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

namespace railweave::scheduler {

Result<void> check_model(const ModelSpec& model, const Parallelism& parallelism) {
  const auto invalid = [](std::string what, const std::string& where) {
    return fail(ErrorKind::invalid, "jobs.invalid", std::move(what), "/model/" + where);
  };
  if (!(model.parameters > 0 && model.parameters <= 1e16)) {
    return invalid("must be above 0 and at most 1e16", "parameters");
  }
  if (model.layers == 0) return invalid("must be at least 1", "layers");
  if (model.hidden_size == 0) return invalid("must be at least 1", "hiddenSize");
  if (model.sequence_length == 0) return invalid("must be at least 1", "sequenceLength");
  if (model.micro_batch == 0) return invalid("must be at least 1", "microBatchSize");
  if (model.virtual_stages == 0) return invalid("must be at least 1", "virtualStages");
  if (model.synchronise_every == 0) return invalid("must be at least 1", "synchroniseEvery");
  if (model.parameter_servers == 0 || model.parameter_servers > GroupTraffic::kMaxServers) {
    return invalid(fmt::format("must be 1 to {}", GroupTraffic::kMaxServers), "parameterServers");
  }
  if (model.parameter_servers > 1 && model.exchange != GradientExchange::parameter_servers) {
    return invalid("only an exchange through parameter servers has servers", "parameterServers");
  }
  if (model.exchange == GradientExchange::parameter_servers && model.sharding != Sharding::none) {
    return invalid("must be none with parameter servers, which hold the optimizer's state", "sharding");
  }
  if (!(model.gradient_compression >= 1 && model.gradient_compression <= 1e6)) {
    return invalid("must be at least 1 and at most a million", "gradientCompression");
  }
  if (!(model.kv_fraction > 0 && model.kv_fraction <= 1)) return invalid("must be over 0, at most 1", "kvFraction");
  struct Overlap {
    double share;
    const char* group;
  };
  for (const auto& [share, group] : {Overlap{model.overlap_tensor, "tensor"}, Overlap{model.overlap_context, "context"},
                                     Overlap{model.overlap_expert, "expert"}, Overlap{model.overlap_data, "data"},
                                     Overlap{model.overlap_pipeline, "pipeline"}}) {
    if (!(share >= 0 && share <= 1)) return invalid("must be between 0 and 1", std::string("overlap/") + group);
  }
  if (model.layers < parallelism.pipeline) {
    return invalid(fmt::format("{} layers do not fill {} pipeline stages", model.layers, parallelism.pipeline),
                   "layers");
  }
  if (micro_batches(model, parallelism) < 1) {
    return invalid("the global batch is less than one micro-batch per data-parallel rank", "globalBatchSize");
  }
  if (model.experts) {
    const MixtureOfExperts& e = *model.experts;
    if (e.experts == 0 || e.experts_per_token == 0 || e.every == 0) return invalid("must be at least 1", "experts");
    if (e.experts_per_token > e.experts) {
      return invalid("must be at most the number of experts", "experts/perToken");
    }
    if (!(e.expert_parameters >= 0 && e.expert_parameters <= model.parameters)) {
      return invalid("must be at most the parameters of the model", "experts/parameters");
    }
  }
  return {};
}

double micro_batches(const ModelSpec& model, const Parallelism& parallelism) {
  return static_cast<double>(model.global_batch) /
         (static_cast<double>(model.micro_batch) * parallelism.data * parallelism.expert);
}

namespace {

// As bytes of one all-reduce, which passes every byte twice.
double gradient_bytes(const ModelSpec& model, double parameters, double batches) {
  const double gradients = parameters * bytes_of(model.gradient_precision) / model.gradient_compression;
  const double weights = parameters * bytes_of(model.precision);
  switch (model.sharding) {
    case Sharding::none:
      return gradients;
    case Sharding::optimizer:
      return (gradients + weights) / 2;
    case Sharding::parameters:
      return (gradients + 2 * batches * weights) / 2;
  }
  return gradients;
}

}  // namespace

ModelSpec assumed_model(const Parallelism& p) {
  constexpr double kLayerParameters = 12.0 * 8192 * 8192;  // attention 4 h^2, feed-forward 8 h^2
  ModelSpec model{.name = "assumed",
                  .parameters = 2e9 * p.tensor * p.pipeline,
                  .hidden_size = 8192,
                  .sequence_length = 4096 * p.context,
                  .micro_batch = 1,
                  .global_batch = 16 * p.data * p.expert,
                  .kv_fraction = 0.125};
  model.layers = std::max(p.pipeline, static_cast<std::uint32_t>(model.parameters / kLayerParameters));
  if (p.expert > 1) {
    model.experts = MixtureOfExperts{
        .experts = p.expert, .experts_per_token = 2, .expert_parameters = model.parameters / 2, .every = 1};
  }
  return model;
}

TrafficSpec traffic_of(const ModelSpec& model, const Parallelism& p) {
  TrafficSpec traffic;
  const double layers = static_cast<double>(model.layers) / p.pipeline, batches = micro_batches(model, p);
  const double per_token = model.hidden_size * bytes_of(model.precision);
  const double tokens = static_cast<double>(model.micro_batch) * model.sequence_length;
  const double activations = tokens / p.context * per_token;
  const double calls = layers * batches;  // one call per layer and micro-batch

  if (p.tensor > 1) {
    const double times = model.recompute ? 6 : 4;
    traffic.tensor = {times * calls * activations, times * calls};
  }
  if (p.context > 1) {
    const double times = model.recompute ? 4 : 3;
    traffic.context = {times * calls * 2 * tokens * per_token * model.kv_fraction / p.tensor, times * calls};
  }
  if (p.expert > 1 && model.experts) {
    const double times = 4 * calls / model.experts->every;
    traffic.expert = {times * activations * model.experts->experts_per_token / p.tensor, times};
  }
  if (p.pipeline > 1) {
    const double messages = batches * model.virtual_stages;
    traffic.pipeline = {messages * activations / p.tensor, messages};
  }
  const double of_experts = model.experts ? model.experts->expert_parameters : 0;
  const double share = 1.0 / p.tensor / p.pipeline, every = model.synchronise_every;
  const double passes = model.sharding == Sharding::parameters ? 2 * batches + 1 : 1;
  if (p.data * p.expert * p.context > 1) {
    traffic.data = {gradient_bytes(model, (model.parameters - of_experts) * share, batches) / every,
                    std::max(1.0, layers * passes) / every};
  }
  if (of_experts > 0 && p.data * p.context > 1) {
    traffic.expert_data = {gradient_bytes(model, of_experts * share / p.expert, batches) / every,
                           std::max(1.0, layers * passes) / every};
  }
  for (GroupTraffic* group : {&traffic.data, &traffic.expert_data}) {
    if (group->bytes <= 0) continue;
    group->exchange = model.exchange;
    if (model.exchange == GradientExchange::parameter_servers) group->servers = model.parameter_servers;
  }
  return traffic;
}

}  // namespace railweave::scheduler
