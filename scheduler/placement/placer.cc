#include "scheduler/placement/placer.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "scheduler/placement/data_rings.h"
#include "scheduler/placement/explain.h"
#include "scheduler/placement/job_search.h"
#include "scheduler/placement/packing.h"
#include "scheduler/placement/placement_transaction.h"

namespace railweave::scheduler {

using fabric::HostId;
using fabric::NvlinkDomainId;

class Placer::Impl {
 public:
  explicit Impl(PlacementFabricPtr fabric)
      : fabric_(std::move(fabric)),
        tree_(fabric_->hierarchy_ptr()),
        search_(fabric_->hierarchy_ptr()),
        packing_(*fabric_) {}

  [[nodiscard]] const PlacementFabric& fabric() const { return *fabric_; }
  [[nodiscard]] PlacementTree& tree() { return tree_; }
  [[nodiscard]] PlacementResult place(const JobSpec& spec);
  [[nodiscard]] std::optional<Placement> try_place(const JobSpec& spec);
  [[nodiscard]] bool fits(const JobSpec& spec);

 private:
  [[nodiscard]] JobSearch::Filter filter_of(const JobSpec& spec) {
    return spec.node_selector.empty() ? nullptr : filter_of(spec.node_selector);
  }
  void exclude(PlacementTransaction& exclusion, const JobSpec& spec) const;
  [[nodiscard]] PlacementResult refuse(const JobSpec& spec, const JobSearch::Filter& filter,
                                       std::vector<HostId> excluded);
  [[nodiscard]] Placement placement_of(const JobSpec& spec, const Found& found);
  void describe(std::span<const Share> shares, const JobSpec& spec, const Found& found, Placement& placement);
  [[nodiscard]] std::vector<HostId> excluded_by(const JobSpec& spec, std::vector<std::string>& warnings) const;
  [[nodiscard]] JobSearch::Filter filter_of(const std::map<std::string, std::string>& selector);

  PlacementFabricPtr fabric_;
  PlacementTree tree_;
  std::optional<PlacementTree> empty_;  // the fabric with nothing on it, made when first needed
  JobSearch search_;
  Packing packing_;
  std::vector<NvlinkDomainId> domains_;
  // The selectors used last, so that an index made for one is found again.
  static constexpr std::size_t kMaxFilters = 8;
  std::vector<std::pair<std::map<std::string, std::string>, JobSearch::Filter>> filters_;
};

PlacementResult Placer::Impl::place(const JobSpec& spec) {
  const auto refused = [](const Error& error) {
    PlacementResult result;
    result.outcome = Outcome::never;
    result.explanation.code = error.code;
    result.explanation.message = error.text();
    return result;
  };
  if (const auto checked = check_job_spec(spec); !checked) return refused(checked.error());

  std::vector<std::string> warnings;
  std::vector<HostId> excluded = excluded_by(spec, warnings);
  const JobSearch::Filter filter = filter_of(spec);
  PlacementTransaction exclusion(tree_, fabric_->topology());
  for (const HostId host : excluded) exclusion.set_available(host, false);

  PlacementResult result;
  const auto found = search_.find(spec, tree_, filter);
  if (!found) {
    result = refused(found.error());
  } else if (*found) {
    result.outcome = Outcome::placed;
    result.placement = placement_of(spec, **found);
  } else {
    result = refuse(spec, filter, std::move(excluded));
  }
  result.warnings = std::move(warnings);
  return result;
}

void Placer::Impl::exclude(PlacementTransaction& exclusion, const JobSpec& spec) const {
  for (const auto& name : spec.exclude_nodes) {
    if (const HostId host = fabric_->topology().find_host(name)) exclusion.set_available(host, false);
  }
}

std::optional<Placement> Placer::Impl::try_place(const JobSpec& spec) {
  if (!check_job_spec(spec)) return std::nullopt;
  PlacementTransaction exclusion(tree_, fabric_->topology());
  exclude(exclusion, spec);
  const auto found = search_.find(spec, tree_, filter_of(spec));
  if (!found || !*found) return std::nullopt;
  return placement_of(spec, **found);
}

bool Placer::Impl::fits(const JobSpec& spec) {
  if (!check_job_spec(spec)) return false;
  PlacementTransaction exclusion(tree_, fabric_->topology());
  exclude(exclusion, spec);
  return search_.fits(spec, tree_, filter_of(spec));
}

PlacementResult Placer::Impl::refuse(const JobSpec& spec, const JobSearch::Filter& filter,
                                     std::vector<HostId> excluded) {
  if (!empty_) empty_.emplace(fabric_->hierarchy_ptr());
  PlacementTransaction exclusion(*empty_, fabric_->topology());
  for (const HostId host : excluded) exclusion.set_available(host, false);
  return explain(*fabric_, search_,
                 {.spec = &spec, .filter = filter, .excluded = std::move(excluded), .now = &tree_, .empty = &*empty_});
}

std::vector<HostId> Placer::Impl::excluded_by(const JobSpec& spec, std::vector<std::string>& warnings) const {
  std::vector<HostId> hosts;
  for (const auto& name : spec.exclude_nodes) {
    if (const HostId host = fabric_->topology().find_host(name)) {
      hosts.push_back(host);
    } else {
      warnings.push_back("excluded node '" + name + "' is not in the fabric");
    }
  }
  std::ranges::sort(hosts);
  const auto repeated = std::ranges::unique(hosts);
  hosts.erase(repeated.begin(), repeated.end());
  return hosts;
}

JobSearch::Filter Placer::Impl::filter_of(const std::map<std::string, std::string>& selector) {
  const auto known = std::ranges::find(filters_, selector, [](const auto& entry) { return entry.first; });
  if (known != filters_.end()) {
    std::rotate(filters_.begin(), known, known + 1);
    return filters_.front().second;
  }
  const auto& topology = fabric_->topology();
  const Hierarchy& hierarchy = fabric_->hierarchy();
  auto filter = std::make_shared<LeafFilter>(hierarchy.leaf_count(), std::uint8_t{0});
  for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
    const auto labels = topology.labels(hierarchy.host(leaf));
    const auto carried = [&](const auto& wanted) {
      return std::ranges::any_of(labels, [&](const auto& label) {
        return topology.text(label.key) == wanted.first && topology.text(label.value) == wanted.second;
      });
    };
    (*filter)[leaf] = std::ranges::all_of(selector, carried) ? 1 : 0;
  }
  if (filters_.size() == kMaxFilters) filters_.pop_back();
  filters_.insert(filters_.begin(), {selector, std::move(filter)});
  return filters_.front().second;
}

Placement Placer::Impl::placement_of(const JobSpec& spec, const Found& found) {
  const JobShape& shape = found.shape;
  const FitRequest request{.rungs = shape.rungs, .count = shape.count, .max_level = shape.max_level};
  const auto shares = search_.best_fit().distribute(tree_.fit_index(shape.fit), request, found.fit);
  packing_.pack(tree_, shares, shape.nested_gpus);

  Placement placement;
  const auto gpus = packing_.gpus();
  if (shape.expert_inside) {
    placement.gpu_of_rank.resize(gpus.size());
    for (std::size_t i = 0; i < gpus.size(); ++i) placement.gpu_of_rank[rank_at(spec.parallelism, true, i)] = gpus[i];
  } else {
    placement.gpu_of_rank.assign(gpus.begin(), gpus.end());
  }
  describe(shares, spec, found, placement);
  return placement;
}

void Placer::Impl::describe(std::span<const Share> shares, const JobSpec& spec, const Found& found,
                            Placement& placement) {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  const auto& topology = fabric_->topology();
  placement.level = hierarchy.kind(found.fit.level);
  placement.block_gpus = found.shape.fit.block;

  HostId host;
  GroupIndex group = UINT32_MAX;
  domains_.clear();
  std::uint32_t without_nvlink = 0;
  for (const Share& share : shares) {
    if (hierarchy.host(share.leaf) != host) {
      host = hierarchy.host(share.leaf);
      ++placement.nodes_used;
      placement.nics_assumed = placement.nics_assumed || fabric_->gpu_nics().assumed(host);
    }
    const auto first_gpu =
        topology.gpus(host)[static_cast<std::size_t>(std::countr_zero(hierarchy.gpu_mask(share.leaf)))];
    const NvlinkDomainId domain = topology.nvlink_domain(first_gpu);
    if (!domain)
      ++without_nvlink;
    else if (domains_.empty() || domains_.back() != domain)
      domains_.push_back(domain);
    if (found.fit.level == 0) continue;
    const GroupIndex below = hierarchy.group_of_leaf(found.fit.level - 1, share.leaf);
    if (below != group) ++placement.groups_at_level;
    group = below;
  }
  if (found.fit.level == 0) placement.groups_at_level = 1;
  std::ranges::sort(domains_);
  const auto repeated = std::ranges::unique(domains_);
  placement.domains_used = static_cast<std::uint32_t>(domains_.size() - repeated.size()) + without_nvlink;

  const auto leaves = packing_.leaves();
  const std::size_t stage = leaves.size() / spec.parallelism.pipeline;
  unsigned farthest = 0;
  for (std::size_t begin = 0; begin < leaves.size(); begin += stage) {
    const auto [first, last] = std::ranges::minmax(leaves.subspan(begin, stage));
    while (hierarchy.group_of_leaf(farthest, first) != hierarchy.group_of_leaf(farthest, last)) ++farthest;
  }
  placement.stage_level = hierarchy.kind(farthest);
  placement.data_rings_on_rails = data_rings_on_rails(*fabric_, spec.parallelism, placement.gpu_of_rank);
}

Placer::Placer(PlacementFabricPtr fabric) : impl_(std::make_unique<Impl>(std::move(fabric))) {}
Placer::~Placer() = default;
Placer::Placer(Placer&&) noexcept = default;
Placer& Placer::operator=(Placer&&) noexcept = default;

const PlacementFabric& Placer::fabric() const { return impl_->fabric(); }
void Placer::sync(const Allocations& allocations) { impl_->tree().sync(allocations); }
PlacementResult Placer::place(const JobSpec& spec) { return impl_->place(spec); }
std::optional<Placement> Placer::try_place(const JobSpec& spec) { return impl_->try_place(spec); }
bool Placer::fits(const JobSpec& spec) { return impl_->fits(spec); }
PlacementTree& Placer::tree() { return impl_->tree(); }

}  // namespace railweave::scheduler
