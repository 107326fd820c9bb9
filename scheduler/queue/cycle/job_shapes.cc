#include "scheduler/queue/cycle/job_shapes.h"

#include <string>

namespace railweave::scheduler {
namespace {

std::size_t mix(std::size_t hash, std::uint64_t value) {
  std::uint64_t x = hash ^ (value + 0x9e3779b97f4a7c15ULL + (std::uint64_t{hash} << 6U) + (std::uint64_t{hash} >> 2U));
  x *= 0xff51afd7ed558ccdULL;
  return static_cast<std::size_t>(x ^ (x >> 33U));
}

std::uint64_t number_of(const LevelRequest& request) {
  const auto number = [](const std::optional<fabric::LevelKind>& kind) {
    return kind ? static_cast<std::uint64_t>(*kind) + 1 : 0;
  };
  return number(request.required) << 8U | number(request.preferred);
}

}  // namespace

std::size_t JobShapes::Hash::operator()(const JobSpec* spec) const {
  const Parallelism& p = spec->parallelism;
  std::size_t hash = mix(std::uint64_t{p.tensor} << 32U | p.context, std::uint64_t{p.expert} << 32U | p.data);
  hash = mix(hash, std::uint64_t{p.pipeline} << 32U | spec->gpus_per_node.value_or(0));
  for (const LevelRequest* request : {&spec->tensor, &spec->context, &spec->expert, &spec->stage, &spec->job}) {
    hash = mix(hash, number_of(*request));
  }
  hash = mix(hash, std::uint64_t{spec->spares_per_domain} << 8U |
                       (spec->exclusive ? static_cast<std::uint64_t>(*spec->exclusive) + 1 : 0));
  return mix(hash, spec->exclude_nodes.size() << 16U | spec->node_selector.size());
}

bool same_shape(const JobSpec& a, const JobSpec& b) {
  return a.parallelism == b.parallelism && a.gpus_per_node == b.gpus_per_node && a.tensor == b.tensor &&
         a.context == b.context && a.expert == b.expert && a.stage == b.stage && a.job == b.job &&
         a.spread_stages == b.spread_stages && a.spread == b.spread && a.slices == b.slices &&
         a.exclusive == b.exclusive && a.spares_per_domain == b.spares_per_domain && a.across_sites == b.across_sites &&
         a.mixed_gpus == b.mixed_gpus && a.only_nodes == b.only_nodes && a.exclude_nodes == b.exclude_nodes &&
         a.node_selector == b.node_selector && a.tolerations == b.tolerations && a.cpu_roles == b.cpu_roles;
}

bool same_use(const JobSpec& a, const JobSpec& b) {
  return same_shape(a, b) && a.model == b.model && a.traffic == b.traffic && a.prefer_nodes == b.prefer_nodes;
}

bool JobShapes::Equal::operator()(const JobSpec* a, const JobSpec* b) const { return same_shape(*a, *b); }

std::optional<ShapeIndex> JobShapes::find(const JobSpec& spec) const {
  const auto known = shapes_.find(&spec);
  return known == shapes_.end() ? std::nullopt : std::optional(known->second);
}

ShapeIndex JobShapes::of(const JobSpec& spec) {
  return shapes_.emplace(&spec, static_cast<ShapeIndex>(shapes_.size())).first->second;
}

}  // namespace railweave::scheduler
