#include "scheduler/placement/placer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "scheduler/collective/traffic.h"
#include "scheduler/placement/explain/explain.h"
#include "scheduler/placement/fit/cpu_seats.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/placer_impl.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::scheduler {

using fabric::HostId;

namespace {

constexpr std::size_t kMaxTolerant = 4;  // taints whose toleration is tried

AllocationOf allocation_of(const PlacementTree& tree) {
  return [&tree](HostId host) -> const HostAllocation& { return tree.allocation(host); };
}

}  // namespace

PlacementResult refused(const Error& error) {
  PlacementResult result;
  result.outcome = Outcome::never;
  result.explanation.code = error.code;
  result.explanation.message = error.text();
  return result;
}

PlacementResult Placer::Impl::place(const JobSpec& spec, bool with_alternatives) {
  if (const auto checked = check_job_spec(spec); !checked) return refused(checked.error());
  if (spec.model) {
    if (const auto checked = check_model(*spec.model, spec.parallelism); !checked) return refused(checked.error());
  }

  std::vector<std::string> warnings;
  const std::vector<HostId> excluded = excluded_by(spec, warnings);
  set_preferences(spec);
  PlacementTransaction exclusion(tree_, fabric_->topology());
  for (const HostId host : excluded) exclusion.set_available(host, false);
  const std::span<const unsigned> models = models_of(spec);
  PlacementResult result = models.size() == 1 ? place_on(spec, models.front(), with_alternatives, excluded)
                                              : place_on_one_model(spec, models, with_alternatives, excluded);
  if (result.outcome == Outcome::placed) see_to_cpu_roles(spec, result);
  add_warnings(spec, result.placement, warnings);
  result.warnings = std::move(warnings);
  if (spec.across_sites && fabric_->whole() != nullptr) see_to_sites(spec, result);
  return result;
}

std::vector<std::string> Placer::Impl::warnings_of(const JobSpec& spec, const Placement& placement) {
  std::vector<std::string> warnings;
  (void)excluded_by(spec, warnings);
  add_warnings(spec, placement, warnings);
  return warnings;
}

// Without ranks: of the request alone.
void Placer::Impl::add_warnings(const JobSpec& spec, const Placement& placement,
                                std::vector<std::string>& warnings) const {
  if (spec.across_sites && !fabric_->hierarchy().joins_sites()) {
    warnings.emplace_back(fabric_->whole() == nullptr
                              ? "no links join the sites of this fabric: acrossSites changes nothing"
                              : "no links between sites are in use: acrossSites changes nothing meanwhile");
  }
  if (placement.gpu_of_rank.empty()) return;
  add_models(placement, warnings);
  add_reduction(spec, placement, warnings);
  std::ranges::move(unmet_preferences(fabric_->topology(), spec, placement.gpu_of_rank), std::back_inserter(warnings));
}

// Refused where they have no places: never only if they would have none with all nodes free and in use.
void Placer::Impl::see_to_cpu_roles(const JobSpec& spec, PlacementResult& result) {
  const auto lacking = lacks_cpu_seats(*fabric_, allocation_of(tree_), spec);
  if (!lacking) {
    result.placement.cpu_seats = cpu_seats(*fabric_, allocation_of(tree_), spec, result.placement);
    return;
  }
  const HostAllocation free;
  const auto never = lacks_cpu_seats(*fabric_, [&](HostId) -> const HostAllocation& { return free; }, spec);
  result = {};
  result.outcome = never ? Outcome::never : Outcome::not_now;
  result.explanation.code = "jobs.noCpuNodes";
  result.explanation.message = never ? never->text() : lacking->text();
  result.explanation.total_gpus = fabric_->topology().gpus().size();
  result.explanation.free_gpus = tree_.total_free();
}

// What is refused while links between sites are out of use: never only where it would be with them as well.
void Placer::Impl::see_to_sites(const JobSpec& spec, PlacementResult& result) {
  if (result.outcome == Outcome::placed) return;
  const std::string out = fabric_->site_links_out();
  if (out.empty()) return;  // all of them carry something
  std::string& message = result.explanation.message;
  if (result.outcome == Outcome::never) {
    if (whole_ == nullptr) whole_ = std::make_unique<Impl>(fabric_->whole(), options_);
    if (whole_->place(spec, false).outcome == Outcome::never) return;
    result.outcome = Outcome::not_now;
    result.explanation.code = "jobs.unreachable";
  }
  message += "; links between sites are out of use meanwhile: " + out;
}

std::optional<Placement> Placer::Impl::try_place(const JobSpec& spec) {
  if (!check_job_spec(spec) || (spec.model && !check_model(*spec.model, spec.parallelism))) return std::nullopt;
  std::vector<std::string> warnings;
  PlacementTransaction exclusion(tree_, fabric_->topology());
  for (const HostId host : excluded_by(spec, warnings)) exclusion.set_available(host, false);
  if (lacks_cpu_seats(*fabric_, allocation_of(tree_), spec)) return std::nullopt;
  set_preferences(spec);
  const std::span<const unsigned> models = models_of(spec);
  std::optional<Placement> placement;
  if (models.size() == 1) {
    placement = try_on(spec, models.front());
  } else if (PlacementResult result = place_on_one_model(spec, models, false, {}); result.outcome == Outcome::placed) {
    placement = std::move(result.placement);
  }
  if (placement) placement->cpu_seats = cpu_seats(*fabric_, allocation_of(tree_), spec, *placement);
  return placement;
}

bool Placer::Impl::fits(const JobSpec& spec) {
  if (!check_job_spec(spec) || (spec.model && !check_model(*spec.model, spec.parallelism))) return false;
  std::vector<std::string> warnings;
  PlacementTransaction exclusion(tree_, fabric_->topology());
  for (const HostId host : excluded_by(spec, warnings)) exclusion.set_available(host, false);
  if (lacks_cpu_seats(*fabric_, allocation_of(tree_), spec)) return false;
  return std::ranges::any_of(
      models_of(spec), [&](unsigned model) { return search_.fits(spec, tree_, filters_of(spec, model).allowed); });
}

bool Placer::Impl::fits_joined(const JobSpec& spec) {
  if (!check_job_spec(spec) || (spec.model && !check_model(*spec.model, spec.parallelism))) return false;
  std::vector<std::string> warnings;
  PlacementTransaction exclusion(tree_, fabric_->topology());
  for (const HostId host : excluded_by(spec, warnings)) exclusion.set_available(host, false);
  if (lacks_cpu_seats(*fabric_, allocation_of(tree_), spec)) return false;
  return std::ranges::any_of(models_of(spec), [&](unsigned model) {
    const Claims claims(search_, tree_, spec, filters_of(spec, model).allowed);
    auto found = search_.find(spec, tree_, claims.filter());
    if (!found || !*found) return false;
    scorer_.set_job(spec, generation_on(spec, model));
    const std::vector<Candidate> only{{.found = std::move(**found)}};
    return has_path(choose(spec, claims, only, nullptr));
  });
}

PlacementResult Placer::Impl::refuse(const JobSpec& spec, const JobSearch::Filter& filter,
                                     std::vector<HostId> excluded) {
  if (!empty_) empty_.emplace(fabric_->hierarchy_ptr());
  PlacementTransaction exclusion(*empty_, fabric_->topology());
  for (const HostId host : excluded) exclusion.set_available(host, false);
  return explain(*fabric_, search_,
                 {.spec = &spec, .filter = filter, .excluded = std::move(excluded), .now = &tree_, .empty = &*empty_});
}

std::vector<Counterfactual> Placer::Impl::changes(const JobSpec& spec, const GpuLimits& limits) {
  if (!check_job_spec(spec) || (spec.model && !check_model(*spec.model, spec.parallelism))) return {};
  if (!empty_) empty_.emplace(fabric_->hierarchy_ptr());
  std::vector<std::string> warnings;
  ChangeQuestion question{.spec = &spec, .filters = {}, .any_model = {}, .excluded = excluded_by(spec, warnings)};
  question.now = &tree_;
  question.empty = &*empty_;
  question.limits = limits;
  PlacementTransaction now(tree_, fabric_->topology()), empty(*empty_, fabric_->topology());
  for (const HostId host : question.excluded) {
    now.set_available(host, false);
    empty.set_available(host, false);
  }
  for (const unsigned model : models_of(spec)) question.filters.push_back(filters_of(spec, model).allowed);
  question.any_model = filters_of(spec, NodeFilters::kAnyModel).allowed;
  question.tolerant = tolerant_jobs(spec);
  return counterfactuals(*fabric_, search_, question);
}

// With each taint that keeps it off nodes tolerated, and with all: a few of them.
std::vector<TolerantJob> Placer::Impl::tolerant_jobs(const JobSpec& spec) {
  const auto& topology = fabric_->topology();
  std::vector<TolerantJob> jobs;
  JobSpec all = spec;
  const auto add = [&](std::string taint, JobSpec tolerant) {
    TolerantJob& job = jobs.emplace_back(std::move(taint), std::move(tolerant));
    for (const unsigned model : models_of(spec)) job.filters.push_back(filters_of(job.spec, model).allowed);
    job.any_model = filters_of(job.spec, NodeFilters::kAnyModel).allowed;
  };
  for (const HostId host : node_filters_.tainted()) {
    for (const auto& label : topology.labels(host)) {
      const auto key = topology.text(label.key), value = topology.text(label.value);
      if (all.tolerations.size() == JobSpec::kMaxTolerations || !repels(key, value, all.tolerations)) continue;
      Toleration one{std::string(key.substr(kTaintPrefix.size())), std::string(value)};
      all.tolerations.push_back(one);
      if (jobs.size() == kMaxTolerant) continue;
      std::string taint = fmt::format("{}={}", one.key, value);
      JobSpec tolerant = spec;
      tolerant.tolerations.push_back(std::move(one));
      add(std::move(taint), std::move(tolerant));
    }
  }
  if (all.tolerations.size() > spec.tolerations.size() + 1) add({}, std::move(all));
  return jobs;
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
  for (const auto& name : spec.only_nodes) {
    if (!fabric_->topology().find_host(name)) warnings.push_back("node '" + name + "' is not in the fabric");
  }
  std::ranges::sort(hosts);
  const auto repeated = std::ranges::unique(hosts);
  hosts.erase(repeated.begin(), repeated.end());
  return hosts;
}

Placer::Placer(PlacementFabricPtr fabric, PlacerOptions options)
    : impl_(std::make_unique<Impl>(std::move(fabric), options)) {}
Placer::~Placer() = default;
Placer::Placer(Placer&&) noexcept = default;
Placer& Placer::operator=(Placer&&) noexcept = default;

const PlacementFabric& Placer::fabric() const { return impl_->fabric(); }
void Placer::sync(const Allocations& allocations) { impl_->tree().sync(allocations); }
void Placer::set_capacities(std::vector<double> bundle_mbps, std::vector<double> up_mbps) {
  impl_->set_capacities(std::move(bundle_mbps), std::move(up_mbps));
}
void Placer::set_residual(std::shared_ptr<const std::vector<double>> bundle_mbps) {
  impl_->set_residual(std::move(bundle_mbps));
}
void Placer::set_parts(std::shared_ptr<const NetworkParts> parts) { impl_->set_parts(std::move(parts)); }
void Placer::set_peers(PeerGpus peers) { impl_->set_peers(std::move(peers)); }
const PeerGpus& Placer::peers() const { return impl_->peers(); }
double Placer::shared_us(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank, PeersOf peers) {
  return impl_->shared_us(spec, gpu_of_rank, peers);
}
void Placer::set_routes(RouteScorer* routes) { impl_->set_routes(routes); }
std::optional<double> Placer::period_us(const JobSpec& spec, const Placement& placement) {
  if (!placement.predicted || !placement.predicted->reachable) return std::nullopt;
  return scheduler::period_us(spec, *placement.predicted);
}
std::optional<double> Placer::priced_period_us(const JobSpec& spec, const Placement& placement) const {
  const auto us = period_us(spec, placement);
  if (!us || spec.prefer_nodes.empty()) return us;
  const double unmet = NodePreferences(impl_->fabric(), spec).unmet(placement.gpu_of_rank);
  return *us + placement.predicted->communication_us * unmet;
}
Prediction Placer::predict(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  return impl_->predict(spec, gpu_of_rank);
}
PlacementResult Placer::place(const JobSpec& spec) {
  PlacementResult result = impl_->place(spec, false);
  // Refused before any search, for what the job says; or for its links, of which changes() knows nothing.
  static constexpr std::array<std::string_view, 4> kNotForGpus{"jobs.invalid", "jobs.unknownLevel", "jobs.unreachable",
                                                               "jobs.noCpuNodes"};
  if (result.outcome != Outcome::placed &&
      std::ranges::find(kNotForGpus, result.explanation.code) == kNotForGpus.end()) {
    result.explanation.counterfactuals = impl_->changes(spec, {});
  }
  return result;
}
PlacementResult Placer::place_or_say_why(const JobSpec& spec) { return impl_->place(spec, false); }
std::vector<Counterfactual> Placer::changes(const JobSpec& spec, const GpuLimits& limits) {
  return impl_->changes(spec, limits);
}
PlacementResult Placer::place_with_alternatives(const JobSpec& spec) { return impl_->place(spec, true); }
std::optional<Placement> Placer::try_place(const JobSpec& spec) { return impl_->try_place(spec); }
bool Placer::fits(const JobSpec& spec) { return impl_->fits(spec); }
bool Placer::fits_joined(const JobSpec& spec) { return impl_->fits_joined(spec); }
std::uint64_t Placer::scored() const { return impl_->scored(); }
std::vector<std::string> Placer::warnings_of(const JobSpec& spec, const Placement& placement) {
  return impl_->warnings_of(spec, placement);
}
PlacementTree& Placer::tree() { return impl_->tree(); }

}  // namespace railweave::scheduler
