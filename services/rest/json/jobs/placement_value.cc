#include "services/rest/json/jobs/placement_value.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "scheduler/placement/score/group_spans.h"
#include "services/control/codec/job_json.h"
#include "services/control/codec/job_spec_json.h"
#include "services/control/codec/prediction_json.h"
#include "services/json/contract_object.h"

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
    nics.push_back(object<"Rank.nics">(with<"device">(topology.device(nic.hca)),
                                       with<"port">(topology.port_text(nic.port)),
                                       with<"rail">(nic.rail ? Out(nic.rail.index()) : Out(nullptr))));
  }
  return object<"Rank">(with<"rank">(rank.rank), with<"node">(topology.name(rank.host)), with<"gpu">(rank.local_gpu),
                        with<"nics">(std::move(nics)), maybe<"nicsAssumed">(rank.nics_assumed, true),
                        with<"dp">(scheduler::data_rank(parallelism, rank.at)), with<"pp">(rank.at.pp),
                        with<"cp">(rank.at.cp), with<"ep">(rank.at.ep), with<"tp">(rank.at.tp),
                        without<"env">());  // write_ranks() adds it
}

Out idle_json(const scheduler::Placement& placement, const fabric::Topology& topology) {
  Out nodes = Out::array();
  fabric::HostId last;
  for (const auto gpu : placement.idle_gpus) {
    const auto host = topology.host(gpu);
    if (host != last) {
      nodes.push_back(object<"Placement.idle.nodes">(with<"node">(topology.name(host)), with<"gpus">(Out::array())));
    }
    last = host;
    nodes.back()["gpus"].push_back(topology.local_index(gpu));
  }
  return object<"Placement.idle">(with<"gpus">(placement.idle_gpus.size()), with<"nodes">(nodes));
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

Out placement_json(const scheduler::Placement& placement, const fabric::Topology& topology,
                   const std::vector<std::string>& unmet_preferences) {
  Out roles = Out::array();
  for (const auto& role : placement.cpu_seats) roles.push_back(fields_json(role, kCpuSeatsFields));
  return object<"Placement">(
      with<"level">(placement.level), with<"nodesUsed">(placement.nodes_used),
      with<"domainsUsed">(placement.domains_used), with<"groupsAtLevel">(placement.groups_at_level),
      with<"dataRingsOnRails">(placement.data_rings_on_rails),
      maybe<"sites">(!topology.sites().empty(), [&] { return sites_json(placement, topology); }),
      maybe<"idle">(!placement.idle_gpus.empty(), [&] { return idle_json(placement, topology); }),
      maybe<"cpuRoles">(!placement.cpu_seats.empty(), std::move(roles)),
      maybe<"unmetPreferences">(!unmet_preferences.empty(), unmet_preferences));
}

Out explanation_json(const scheduler::Explanation& explanation) {
  Out levels = Out::array();
  for (const auto& level : explanation.levels) {
    levels.push_back(object<"Explanation.levels">(
        with<"level">(level.level), with<"groups">(level.groups), with<"groupsThatFit">(level.groups_fit),
        with<"bestBlocks">(level.best_blocks), with<"bestBlocksWhenEmpty">(level.best_blocks_empty)));
  }
  Out excluded = Out::array();
  for (const auto& exclusion : explanation.excluded) {
    excluded.push_back(object<"Explanation.excluded">(with<"reason">(exclusion.reason), with<"nodes">(exclusion.nodes),
                                                      with<"examples">(exclusion.examples),
                                                      maybe<"taint">(!exclusion.taint.empty(), exclusion.taint)));
  }
  Out counterfactuals = Out::array();
  for (const auto& counterfactual : explanation.counterfactuals) {
    counterfactuals.push_back(object<"Explanation.counterfactuals">(with<"change">(counterfactual.change),
                                                                    with<"outcome">(counterfactual.outcome)));
  }
  return object<"Explanation">(with<"level">(explanation.level), with<"blockGpus">(explanation.block_gpus),
                               with<"needed">(explanation.blocks_needed), with<"fits">(explanation.blocks_fit),
                               with<"totalGpus">(explanation.total_gpus), with<"freeGpus">(explanation.free_gpus),
                               with<"strandedGpus">(explanation.stranded_gpus), with<"levels">(levels),
                               with<"excluded">(excluded), with<"counterfactuals">(counterfactuals));
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
    groups[std::string(railweave::to_text(span.group))] =
        object<"GroupSpan">(with<"count">(span.count), with<"ranks">(span.members), with<"worst">(span.worst),
                            with<"domains">(span.domains),
                            maybe<"sameRail">(span.group == scheduler::CommGroup::data, placement.data_rings_on_rails));
  }
  return groups;
}

Out shapes_json(const std::vector<scheduler::ShapeAnswer>& shapes, const MessageReader& reader) {
  Out list = Out::array();
  for (const auto& shape : shapes) {
    const bool is_placed = shape.outcome == Outcome::placed;
    list.push_back(object<"ShapeAnswer">(
        with<"parallelism">(to_json(shape.parallelism)), with<"gpus">(scheduler::rank_count(shape.parallelism)),
        with<"outcome">(shape.outcome), with<"taken">(shape.taken), maybe<"stepMs">(is_placed, ms_json(shape.step_us)),
        maybe<"communicationMs">(is_placed, ms_json(shape.communication_us)),
        maybe<"workMs">(is_placed, ms_json(shape.unit_of_work_us)), maybe<"code">(!is_placed, shape.code),
        maybe<"reason">(!is_placed, [&] { return shape.reason.text(reader); })));
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
    const scheduler::Contention* own = i < compared.size() ? &compared[i] : nullptr;
    Out contention = nullptr;
    if (own != nullptr) {
      contention =
          object<"Alternative.withContention">(with<"basis">(own->basis), with<"stepMs">(ms_json(own->shared.step_us)),
                                               with<"communicationMs">(ms_json(own->shared.communication_us)));
    }
    list.push_back(object<"Alternative">(
        with<"change">(alternatives[i].change),
        with<"stepMs">(ms_json(own != nullptr ? own->alone.step_us : alternatives[i].step_us)),
        with<"communicationMs">(
            ms_json(own != nullptr ? own->alone.communication_us : alternatives[i].communication_us)),
        with<"withContention">(std::move(contention))));
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
