#include "services/railweave/lab/plan/planned_fabric.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "fabric/generate/generate.h"
#include "scheduler/placement/placer.h"

namespace railweave::cli {
namespace {

constexpr std::uint64_t kGpusOfHost = 8, kGpusOfDomainHost = 4;  // HGX; hosts of NVLink domains that span hosts

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

fabric::GenerateParameters parameters_of(const FabricShape& shape, std::uint64_t hosts) {
  fabric::GenerateParameters parameters;
  const auto set = [&](const char* name, const std::string& value) { parameters.insert_or_assign(name, value); };
  set("hosts", std::to_string(hosts));
  set("gpus-per-host", std::to_string(shape.gpus_per_host()));
  set("nvlink-domain", std::to_string(shape.domain));
  set("speed", shape.speed);
  set("radix", std::to_string(shape.radix));
  set(shape.kind == "fat-tree" ? "nics-per-host" : "rails", std::to_string(shape.rails()));
  if (shape.kind != "rail-only") {
    set("tiers", std::to_string(shape.tiers));
    set("oversubscription", number(shape.oversubscription));
  }
  return parameters;
}

void count_parts(PlannedFabric& planned, const fabric::Topology& topology, const Prices& prices) {
  planned.gpus = topology.gpus().size();
  planned.hosts = topology.hosts().size();
  planned.adapters = topology.hcas().size();
  planned.switches = topology.switches().size();
  planned.switch_ports = planned.switches * planned.shape.radix;
  for (const auto link : topology.links()) {
    if (topology.kind(link) == fabric::LinkKind::nvlink) continue;
    ++(topology.joins_switches(link) ? planned.switch_cables : planned.host_cables);
  }
  const auto times = [](std::uint64_t count, double price) { return static_cast<double>(count) * price; };
  planned.network_cost = times(planned.adapters, prices.adapter) + times(planned.switch_ports, prices.switch_port) +
                         times(planned.host_cables, prices.host_cable) +
                         times(planned.switch_cables, prices.switch_cable);
  const bool racks = planned.shape.domain > planned.shape.gpus_per_host();
  if (racks) planned.network_cost += times(planned.gpus, prices.nvlink_gpu);
  planned.total_cost = planned.network_cost + times(planned.gpus, racks ? prices.rack_gpu : prices.gpu) +
                       times(planned.hosts, prices.host);
}

std::unexpected<Error> refused(const FabricShape& shape, std::string why) {
  return fail(ErrorKind::impossible, "plan.impossible", std::move(why), shape.name());
}

}  // namespace

std::uint64_t FabricShape::gpus_per_host() const { return domain > kGpusOfHost ? kGpusOfDomainHost : kGpusOfHost; }

std::uint64_t FabricShape::rails() const {
  const double rails = adapters_per_gpu * static_cast<double>(gpus_per_host());
  return rails >= 1 && rails == std::floor(rails) ? static_cast<std::uint64_t>(rails) : 0;
}

std::string FabricShape::name() const {
  std::string text = kind;
  if (kind != "rail-only") {
    text += fmt::format(", {}{}{}:1", tiers, tiers == 1 ? " tier, " : " tiers, ", number(oversubscription));
  }
  return fmt::format("{}, {}{}, NVL{}", text, rails(), kind == "fat-tree" ? " adapters" : " rails", domain);
}

std::vector<FabricShape> shapes_of(const ShapeChoices& choices) {
  std::vector<FabricShape> shapes;
  for (const auto& kind : choices.kinds) {
    for (const auto domain : choices.domains) {
      for (const double adapters : choices.adapters_per_gpu) {
        FabricShape shape{.kind = kind,
                          .adapters_per_gpu = adapters,
                          .domain = domain,
                          .speed = choices.speed,
                          .radix = choices.radix};
        if (shape.rails() == 0) continue;
        if (kind == "rail-only") {
          shape.tiers = 1;
          shapes.push_back(shape);
          continue;
        }
        for (const auto tiers : choices.tiers) {
          for (const double oversubscription : choices.oversubscriptions) {
            shape.tiers = tiers;
            shape.oversubscription = oversubscription;
            shapes.push_back(shape);
          }
        }
      }
    }
  }
  return shapes;
}

std::optional<double> PlannedFabric::efficiency() const {
  if (!exposed_us || step_us <= 0) return std::nullopt;
  return std::clamp(1 - *exposed_us / step_us, 0.0, 1.0);
}

Result<PlannedFabric> plan_fabric(const FabricShape& shape, const scheduler::JobSpec& job, const Prices& prices) {
  // Whole hosts, and whole NVLink domains.
  const std::uint64_t unit = std::max(shape.domain, shape.gpus_per_host());
  const std::uint64_t units = (scheduler::rank_count(job.parallelism) + unit - 1) / unit;
  auto topology =
      fabric::generate({.kind = shape.kind, .parameters = parameters_of(shape, units * unit / shape.gpus_per_host())});
  if (!topology) return std::unexpected(topology.error());
  const auto shared = std::make_shared<const fabric::Topology>(std::move(*topology));
  PlannedFabric planned{.shape = shape};
  count_parts(planned, *shared, prices);
  scheduler::Placer placer(std::make_shared<const scheduler::PlacementFabric>(shared));
  const auto result = placer.place(job);
  if (result.outcome != scheduler::Outcome::placed) return refused(shape, result.explanation.whole().whole_text());
  const auto& predicted = result.placement.predicted;
  if (!predicted || !predicted->reachable) return refused(shape, "some ranks that talk to each other have no path");
  planned.communication_us = predicted->communication_us;
  planned.step_us = predicted->step_us.value_or(predicted->communication_us);
  planned.exposed_us = predicted->exposed_us;
  planned.generation = predicted->generation;
  return planned;
}

FailureLoss failure_loss(const FailureModel& model, std::uint64_t gpus) {
  constexpr double kSecondsOfHour = 3'600;
  FailureLoss loss;
  loss.hours_between = model.gpu_hours / static_cast<double>(std::max<std::uint64_t>(gpus, 1));
  const double between_s = loss.hours_between * kSecondsOfHour;
  loss.checkpoint_every_s = std::sqrt(2 * model.checkpoint_s * between_s);
  loss.lost_share = std::min(
      1.0, model.checkpoint_s / loss.checkpoint_every_s + (loss.checkpoint_every_s / 2 + model.restart_s) / between_s);
  return loss;
}

}  // namespace railweave::cli
