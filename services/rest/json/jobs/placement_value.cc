#include "services/rest/json/jobs/placement_value.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "scheduler/placement/score/group_spans.h"
#include "services/control/codec/job_json.h"
#include "services/control/codec/job_spec_json.h"
#include "services/control/codec/prediction_json.h"

namespace railweave::api {

using scheduler::Outcome;
using scheduler::PlacementFabric;
using scheduler::Rank;
using scheduler::RankMap;

namespace {

Out rank_json(const PlacementFabric& fabric, const scheduler::Parallelism& parallelism, const Rank& rank) {
  const auto& topology = fabric.topology();
  Out nics = Out::array();
  for (const auto& nic : rank.nics) {
    nics.push_back({{"device", topology.device(nic.hca)},
                    {"port", topology.port_text(nic.port)},
                    {"rail", nic.rail ? Out(nic.rail.index()) : Out(nullptr)}});
  }
  Out value{{"rank", rank.rank}, {"node", topology.name(rank.host)}, {"gpu", rank.local_gpu}, {"nics", nics}};
  if (rank.nics_assumed) value["nicsAssumed"] = true;
  value["dp"] = scheduler::data_rank(parallelism, rank.at);
  value["pp"] = rank.at.pp;
  value["cp"] = rank.at.cp;
  value["ep"] = rank.at.ep;
  value["tp"] = rank.at.tp;
  return value;
}

Out idle_json(const scheduler::Placement& placement, const fabric::Topology& topology) {
  Out nodes = Out::array();
  fabric::HostId last;
  for (const auto gpu : placement.idle_gpus) {
    const auto host = topology.host(gpu);
    if (host != last) nodes.push_back({{"node", topology.name(host)}, {"gpus", Out::array()}});
    last = host;
    nodes.back()["gpus"].push_back(topology.local_index(gpu));
  }
  return {{"gpus", placement.idle_gpus.size()}, {"nodes", nodes}};
}

// Names of the sites of its ranks, in their order.
Out sites_json(const scheduler::Placement& placement, const fabric::Topology& topology) {
  std::set<fabric::SiteId> sites;
  for (const auto gpu : placement.gpu_of_rank) {
    if (const auto site = topology.site(topology.host(gpu))) sites.insert(site);
  }
  Out names = Out::array();
  for (const auto site : sites) names.push_back(topology.name(site));
  return names;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::placed:
      return "placed";
    case Outcome::not_now:
      return "notNow";
    case Outcome::never:
      return "never";
  }
  return "";
}

Out placement_json(const scheduler::Placement& placement, const fabric::Topology& topology) {
  Out value{{"level", fabric::to_string(placement.level)},
            {"nodesUsed", placement.nodes_used},
            {"domainsUsed", placement.domains_used},
            {"groupsAtLevel", placement.groups_at_level},
            {"dataRingsOnRails", placement.data_rings_on_rails}};
  if (!topology.sites().empty()) value["sites"] = sites_json(placement, topology);
  if (!placement.idle_gpus.empty()) value["idle"] = idle_json(placement, topology);
  for (const auto& role : placement.cpu_seats) value["cpuRoles"].push_back(fields_json(role, kCpuSeatsFields));
  return value;
}

Out explanation_json(const scheduler::Explanation& explanation) {
  Out levels = Out::array();
  for (const auto& level : explanation.levels) {
    levels.push_back({{"level", fabric::to_string(level.level)},
                      {"groups", level.groups},
                      {"groupsThatFit", level.groups_fit},
                      {"bestBlocks", level.best_blocks},
                      {"bestBlocksWhenEmpty", level.best_blocks_empty}});
  }
  Out excluded = Out::array();
  for (const auto& exclusion : explanation.excluded) {
    Out one{{"reason", exclusion.reason}, {"nodes", exclusion.nodes}, {"examples", exclusion.examples}};
    if (!exclusion.taint.empty()) one["taint"] = exclusion.taint;
    excluded.push_back(std::move(one));
  }
  Out counterfactuals = Out::array();
  for (const auto& counterfactual : explanation.counterfactuals) {
    counterfactuals.push_back({{"change", counterfactual.change}, {"outcome", to_string(counterfactual.outcome)}});
  }
  return {{"level", fabric::to_string(explanation.level)},
          {"blockGpus", explanation.block_gpus},
          {"needed", explanation.blocks_needed},
          {"fits", explanation.blocks_fit},
          {"totalGpus", explanation.total_gpus},
          {"freeGpus", explanation.free_gpus},
          {"strandedGpus", explanation.stranded_gpus},
          {"levels", levels},
          {"excluded", excluded},
          {"counterfactuals", counterfactuals}};
}

Out ranks_json(const RankMap& map, const PlacementFabric& fabric, std::uint64_t from, std::uint64_t count) {
  Out list = Out::array();
  const std::uint64_t end = std::min<std::uint64_t>(map.size(), from + count);
  for (std::uint64_t rank = from; rank < end; ++rank) list.push_back(rank_json(fabric, map.parallelism(), map[rank]));
  return list;
}

Out groups_json(const scheduler::PlacementFabric& fabric, const scheduler::Parallelism& parallelism,
                const scheduler::Placement& placement) {
  Out groups = Out::object();
  for (const auto& span : scheduler::group_spans(fabric, parallelism, placement.gpu_of_rank)) {
    Out& group = groups[std::string(railweave::to_text(span.group))];
    group = {{"count", span.count},
             {"ranks", span.members},
             {"worst", fabric::to_string(span.worst)},
             {"domains", span.domains}};
    if (span.group == scheduler::CommGroup::data) group["sameRail"] = placement.data_rings_on_rails;
  }
  return groups;
}

Out shapes_json(const std::vector<scheduler::ShapeAnswer>& shapes, const MessageReader& reader) {
  Out list = Out::array();
  for (const auto& shape : shapes) {
    Out value{{"parallelism", to_json(shape.parallelism)},
              {"gpus", scheduler::rank_count(shape.parallelism)},
              {"outcome", to_string(shape.outcome)},
              {"taken", shape.taken}};
    if (shape.outcome == Outcome::placed) {
      value["stepMs"] = ms_json(shape.step_us);
      value["communicationMs"] = ms_json(shape.communication_us);
      value["workMs"] = ms_json(shape.unit_of_work_us);
    } else {
      value["code"] = shape.code;
      value["reason"] = shape.reason.text(reader);
    }
    list.push_back(std::move(value));
  }
  return list;
}

Out predicted_json(const scheduler::Placement& placement) {
  return placement.predicted ? to_json(*placement.predicted) : Out(nullptr);
}

Out alternatives_json(const std::vector<scheduler::Alternative>& alternatives,
                      std::span<const scheduler::Contention> compared) {
  Out list = Out::array();
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    Out value{{"change", alternatives[i].change}};
    if (i < compared.size()) {
      const scheduler::Contention& own = compared[i];
      value["stepMs"] = ms_json(own.alone.step_us);
      value["communicationMs"] = ms_json(own.alone.communication_us);
      value["withContention"] = {{"basis", railweave::to_text(own.basis)},
                                 {"stepMs", ms_json(own.shared.step_us)},
                                 {"communicationMs", ms_json(own.shared.communication_us)}};
    } else {
      value["stepMs"] = ms_json(alternatives[i].step_us);
      value["communicationMs"] = ms_json(alternatives[i].communication_us);
      value["withContention"] = nullptr;
    }
    list.push_back(std::move(value));
  }
  return list;
}

namespace {

double step_time_us(const scheduler::Prediction& prediction) {
  return prediction.step_us.value_or(prediction.communication_us);
}

std::string ms_text(double us) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g ms", us / 1000);
  return text;
}

}  // namespace

std::string faster_alternative(const scheduler::PlacementResult& result, const scheduler::Contention& chosen,
                               std::span<const scheduler::Contention> compared) {
  constexpr double kAsFast = 0.99;
  const auto& beside = result.placement.beside;
  if (!beside || !chosen.shared.reachable || chosen.basis != scheduler::ContentionBasis::routes) return {};
  const scheduler::Alternative* fastest = nullptr;
  double least = step_time_us(chosen.shared) * kAsFast;
  for (std::size_t i = 0; i < std::min(result.alternatives.size(), compared.size()); ++i) {
    const auto& other = result.alternatives[i];
    const double on_bundles = other.shared_step_us.value_or(other.shared_communication_us);
    if (other.alone || on_bundles < step_time_us(*beside) * kAsFast || step_time_us(compared[i].shared) >= least)
      continue;
    fastest = &other;
    least = step_time_us(compared[i].shared);
  }
  if (fastest == nullptr) return {};
  return "chosen on bundles of links, which routes are taken to fill evenly; on the routes in force '" +
         fastest->change + "' takes " + ms_text(least) + " beside other jobs instead of " +
         ms_text(step_time_us(chosen.shared));
}

std::string two_predictions(const scheduler::Placement& placement, const scheduler::Contention& own) {
  constexpr double kAlike = 1.1;
  if (!placement.predicted || own.basis != scheduler::ContentionBasis::routes) return {};
  const scheduler::Prediction& bundles = *placement.predicted;
  const scheduler::Prediction& routes = own.alone;
  if (!bundles.reachable || !routes.reachable) return {};
  const double less = std::min(bundles.communication_us, routes.communication_us);
  const double more = std::max(bundles.communication_us, routes.communication_us);
  if (less <= 0 || more <= less * kAlike) return {};
  // The group that makes most of the difference.
  std::size_t group = 0;
  for (std::size_t g = 1; g < scheduler::kCommGroups; ++g) {
    const auto apart = [&](std::size_t i) { return std::abs(routes.by_group_us[i] - bundles.by_group_us[i]); };
    if (apart(g) > apart(group)) group = g;
  }
  const std::string name(railweave::to_text(static_cast<scheduler::CommGroup>(group)));
  const bool slower = routes.communication_us > bundles.communication_us;
  return "without other jobs communication takes " + ms_text(routes.communication_us) +
         " on the routes in force, which holds, and not the predicted " + ms_text(bundles.communication_us) +
         " of routes that fill links evenly: " +
         (slower ? "some links carry more flows of its " + name + " groups than others"
                 : "the flows of its " + name + " groups meet on fewer links than there");
}

}  // namespace railweave::api
