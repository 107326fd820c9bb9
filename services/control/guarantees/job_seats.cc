#include "services/control/guarantees/job_seats.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "scheduler/placement/fit/node_labels.h"

namespace railweave::control {
namespace {

using fabric::GpuId;
using fabric::HostId;
using scheduler::JobSpec;
using scheduler::LeafIndex;
using scheduler::PlacementFabric;

class Seating {
 public:
  Seating(const PlacementFabric& fabric, const scheduler::PlacementTree& tree, const JobSpec& spec)
      : fabric_(fabric), tree_(tree), spec_(spec), names_(named_by(spec)) {}

  std::optional<JobSeats> make();

 private:
  struct Nodes {
    std::set<std::string_view> only, excluded;
  };
  static Nodes named_by(const JobSpec& spec) {
    return {{spec.only_nodes.begin(), spec.only_nodes.end()}, {spec.exclude_nodes.begin(), spec.exclude_nodes.end()}};
  }
  [[nodiscard]] bool may_use(HostId host) const;
  [[nodiscard]] std::vector<GpuId> free_gpus(LeafIndex leaf) const;
  void seat_leaf(LeafIndex leaf);
  void seat_domains();
  void add(LeafIndex leaf, std::vector<GpuId> gpus, std::size_t free);
  [[nodiscard]] SeatScope& scope_of(LeafIndex leaf);

  const PlacementFabric& fabric_;
  const scheduler::PlacementTree& tree_;
  const JobSpec& spec_;
  const Nodes names_;
  JobSeats result_;
  std::map<std::pair<unsigned, std::uint32_t>, std::size_t> scopes_;  // by model and group
  std::map<std::uint32_t, std::vector<LeafIndex>> small_;             // leaves that hold no unit, by NVLink domain
};

bool Seating::may_use(HostId host) const {
  const auto& t = fabric_.topology();
  if (tree_.allocation(host).unavailable) return false;
  if (!names_.only.empty() && !names_.only.contains(t.name(host))) return false;
  if (names_.excluded.contains(t.name(host))) return false;
  return scheduler::carries_labels(t, host, spec_.node_selector) &&
         scheduler::repelling_taint(t, host, spec_.tolerations).empty();
}

std::vector<GpuId> Seating::free_gpus(LeafIndex leaf) const {
  std::vector<GpuId> free;
  const std::uint64_t mask = tree_.free_mask(leaf);
  const auto gpus = fabric_.topology().gpus(fabric_.hierarchy().host(leaf));
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if ((mask >> i & 1U) != 0) free.push_back(gpus[i]);
  }
  return free;
}

SeatScope& Seating::scope_of(LeafIndex leaf) {
  const auto& hierarchy = fabric_.hierarchy();
  unsigned level = hierarchy.top(spec_.across_sites);
  if (spec_.job.required && hierarchy.level_of(*spec_.job.required) != scheduler::Hierarchy::kNoLevel) {
    level = hierarchy.level_of(*spec_.job.required);
  }
  const bool one_model = fabric_.gpu_models().count() > 1 && !spec_.mixed_gpus && !spec_.node_selector.contains("gpu");
  const unsigned model = one_model ? fabric_.gpu_models().of(leaf) : 0;
  const auto at =
      scopes_.try_emplace({model, hierarchy.group_of_leaf(level, leaf)}, result_.scopes.size()).first->second;
  if (at == result_.scopes.size()) result_.scopes.emplace_back();
  return result_.scopes[at];
}

// free: GPUs among which these were chosen.
void Seating::add(LeafIndex leaf, std::vector<GpuId> gpus, std::size_t free) {
  scheduler::Seat seat{.units = static_cast<std::uint32_t>(gpus.size() / result_.unit_gpus), .ports = {}};
  bool alike = true;  // whichever of the GPUs are used, the ports are the same
  for (const GpuId gpu : gpus) {
    std::vector<fabric::PortId> own;
    for (const auto& nic : fabric_.gpu_nics().nics(gpu)) own.push_back(nic.port);
    std::ranges::sort(own);
    alike = alike && (gpu == gpus.front() || std::ranges::includes(own, seat.ports));
    for (const auto port : own) {
      const auto at = std::ranges::lower_bound(seat.ports, port);
      if (at != seat.ports.end() && *at == port) continue;
      alike = alike && gpu == gpus.front();
      seat.ports.insert(at, port);
    }
  }
  const bool needs_part = seat.units > 1 || free > gpus.size();
  if (needs_part && !alike) result_.exact = false;
  SeatScope& scope = scope_of(leaf);
  scope.seats.push_back(std::move(seat));
  scope.gpus.push_back(std::move(gpus));
}

void Seating::seat_leaf(LeafIndex leaf) {
  const auto& hierarchy = fabric_.hierarchy();
  if (!may_use(hierarchy.host(leaf))) return;
  if (spec_.parallelism.tensor > 1 && !hierarchy.has_nvlink(leaf)) return;
  std::vector<GpuId> gpus = free_gpus(leaf);
  if (gpus.empty()) return;
  const std::size_t free = gpus.size();
  if (free < result_.unit_gpus) {
    small_[hierarchy.domain(leaf)].push_back(leaf);
    return;
  }
  gpus.resize(spec_.gpus_per_node ? result_.unit_gpus : free / result_.unit_gpus * result_.unit_gpus);
  if (free > gpus.size() && hierarchy.leaves_of_domain(hierarchy.domain(leaf)).size() > 1) result_.exact = false;
  add(leaf, std::move(gpus), free);
}

// Tensor groups over several nodes of one NVLink domain: nodes next to each other make one seat.
void Seating::seat_domains() {
  for (const auto& [domain, leaves] : small_) {
    std::vector<GpuId> gpus;
    for (const LeafIndex leaf : leaves) {
      for (const GpuId gpu : free_gpus(leaf)) {
        gpus.push_back(gpu);
        if (gpus.size() < result_.unit_gpus) continue;
        result_.exact = false;  // other nodes could be put together
        add(leaf, std::exchange(gpus, {}), result_.unit_gpus);
      }
    }
  }
}

std::optional<JobSeats> Seating::make() {
  const std::uint64_t ranks = scheduler::rank_count(spec_.parallelism);
  if (spec_.exclusive || spec_.spares_per_domain > 0 || spec_.spread || ranks == 0) return std::nullopt;
  result_.unit_gpus = spec_.parallelism.tensor;
  if (spec_.gpus_per_node) {
    if (*spec_.gpus_per_node % spec_.parallelism.tensor != 0) return std::nullopt;
    result_.unit_gpus = *spec_.gpus_per_node;
  }
  result_.units = ranks / result_.unit_gpus;
  const auto& hierarchy = fabric_.hierarchy();
  for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) seat_leaf(leaf);
  if (!spec_.gpus_per_node) seat_domains();
  // Which part of a node is used may matter to what is asked of groups of ranks.
  const auto asks = [](const scheduler::LevelRequest& request) { return request.required.has_value(); };
  const bool nested = asks(spec_.tensor) || asks(spec_.context) || asks(spec_.expert) || asks(spec_.stage) ||
                      !spec_.slices.empty() || spec_.spread_stages;
  bool in_parts = false, islands = false;
  for (const auto& scope : result_.scopes) {
    for (const auto& seat : scope.seats) in_parts = in_parts || seat.units > 1;
  }
  for (LeafIndex leaf = 0; leaf + 1 < hierarchy.leaf_count(); ++leaf) {
    islands = islands || hierarchy.host(leaf) == hierarchy.host(leaf + 1);
  }
  if ((nested && in_parts) || (islands && spec_.gpus_per_node)) result_.exact = false;
  return std::move(result_);
}

}  // namespace

std::optional<JobSeats> job_seats(const PlacementFabric& fabric, const scheduler::PlacementTree& tree,
                                  const JobSpec& spec) {
  return Seating(fabric, tree, spec).make();
}

}  // namespace railweave::control
