#include "scheduler/placement/explain/counterfactuals.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/search/claims.h"

namespace railweave::scheduler {
namespace {

using fabric::HostId;

class Trial {
 public:
  Trial(const PlacementFabric& fabric, JobSearch& search, const ChangeQuestion& question)
      : fabric_(fabric), search_(search), refusal_(question) {}

  void fewer(std::string_view name, std::uint32_t Parallelism::* factor);
  void farther(std::string_view name, LevelRequest JobSpec::* group);
  void across_sites();
  void without_gpus_per_node();
  void of_several_models();
  void with_less_beside();
  void with_excluded_hosts();
  void with_tolerations();
  void with_unavailable_hosts();
  std::vector<Counterfactual> take() { return std::move(found_); }

 private:
  [[nodiscard]] Outcome outcome_of(const JobSpec& spec) {
    if (!check_job_spec(spec)) return Outcome::never;
    const std::uint64_t gpus = rank_count(spec.parallelism);
    if (gpus <= refusal_.limits.now && fits(spec, *refusal_.now)) return Outcome::placed;
    return gpus <= refusal_.limits.ever && fits(spec, *refusal_.empty) ? Outcome::not_now : Outcome::never;
  }
  // On GPUs of some model.
  [[nodiscard]] bool fits(const JobSpec& spec, PlacementTree& tree) {
    const JobSearch::Filter& any_model = tolerant_ == nullptr ? refusal_.any_model : tolerant_->any_model;
    if (spec.mixed_gpus) return search_.fits(spec, tree, any_model);
    const auto& filters = tolerant_ == nullptr ? refusal_.filters : tolerant_->filters;
    return std::ranges::any_of(filters, [&](const auto& filter) { return search_.fits(spec, tree, filter); });
  }
  // Adds the change if it improves the outcome.
  void add(std::string change, Outcome outcome, const JobSpec& request) {
    if (outcome == Outcome::never || (outcome == Outcome::not_now && fits_empty())) return;
    found_.push_back({std::move(change), outcome, std::make_shared<const JobSpec>(request)});
  }
  void add_returned(std::string change, std::span<const HostId> hosts, bool links_return) {
    found_.push_back({std::move(change), Outcome::placed, nullptr, {hosts.begin(), hosts.end()}, links_return});
  }
  bool fits_with(std::span<const HostId> hosts);
  std::string sites_of(const JobSpec& spec, PlacementTree& tree);
  bool fits_empty() {
    if (!fits_empty_) fits_empty_ = outcome_of(*refusal_.spec) != Outcome::never;
    return *fits_empty_;
  }

  const PlacementFabric& fabric_;
  JobSearch& search_;
  const ChangeQuestion& refusal_;
  const TolerantJob* tolerant_ = nullptr;  // whose nodes are asked for; null: those of the job as it is
  std::optional<bool> fits_empty_;
  std::vector<Counterfactual> found_;
};

// The largest smaller factor with which the job fits: what fits with n fits with fewer, too.
void Trial::fewer(std::string_view name, std::uint32_t Parallelism::* factor) {
  const std::uint32_t asked = refusal_.spec->parallelism.*factor;
  for (const Outcome wanted : {Outcome::placed, Outcome::not_now}) {
    std::uint32_t fits = 0;
    std::uint32_t fails = asked;
    JobSpec spec = *refusal_.spec;
    while (fails - fits > 1) {
      const std::uint32_t middle = fits + (fails - fits) / 2;
      spec.parallelism.*factor = middle;
      const Outcome outcome = outcome_of(spec);
      (outcome == Outcome::placed || outcome == wanted ? fits : fails) = middle;
    }
    if (fits == 0) continue;
    spec.parallelism.*factor = fits;
    const auto counted = [&](std::uint32_t value) {  // as the job counts it
      const Parallelism& p = refusal_.spec->parallelism;
      const bool over_data = p.experts_over_data && factor == &Parallelism::data;
      return std::to_string(over_data ? std::uint64_t{value} * p.expert : value);
    };
    add(fmt::format("{} {} -> {}", name, counted(asked), counted(fits)), outcome_of(spec), spec);
    return;
  }
}

void Trial::farther(std::string_view name, LevelRequest JobSpec::* group) {
  const auto required = (refusal_.spec->*group).required;
  if (!required) return;
  const Hierarchy& hierarchy = fabric_.hierarchy();
  const unsigned from = hierarchy.level_of(*required);
  JobSpec spec = *refusal_.spec;
  (spec.*group).preferred.reset();
  const unsigned farthest = hierarchy.top(spec.across_sites);
  for (unsigned level = from == Hierarchy::kNoLevel ? 0 : from + 1; level <= farthest; ++level) {
    (spec.*group).required = hierarchy.kind(level);
    const Outcome outcome = outcome_of(spec);
    if (outcome == Outcome::never) continue;
    add(fmt::format("{} within one {} instead of one {}", name, to_string(hierarchy.kind(level)), to_string(*required)),
        outcome, spec);
    if (outcome == Outcome::placed) return;
  }
}

void Trial::across_sites() {
  if (refusal_.spec->across_sites || !fabric_.hierarchy().joins_sites()) return;
  JobSpec spec = *refusal_.spec;
  spec.across_sites = true;
  const Outcome outcome = outcome_of(spec);
  if (outcome == Outcome::never) return;
  PlacementTree& tree = outcome == Outcome::placed ? *refusal_.now : *refusal_.empty;
  add("across sites " + sites_of(spec, tree) + " (acrossSites)", outcome, spec);
}

// "east and west": where the job would go.
std::string Trial::sites_of(const JobSpec& spec, PlacementTree& tree) {
  const auto fitting =
      std::ranges::find_if(refusal_.filters, [&](const auto& filter) { return search_.fits(spec, tree, filter); });
  if (fitting == refusal_.filters.end()) return "";
  const Claims claims(search_, tree, spec, *fitting);
  const auto found = search_.find(spec, tree, claims.filter());
  if (!found || !*found) return "";
  const JobShape& shape = (*found)->shape;
  const FitRequest request{.rungs = shape.rungs, .count = shape.count, .max_level = shape.max_level};
  std::vector<std::string> names;
  for (const Share& share : search_.best_fit().distribute(tree.fit_index(shape.fit), request, (*found)->fit)) {
    const auto site = fabric_.topology().site(fabric_.hierarchy().host(share.leaf));
    const std::string name(site ? fabric_.topology().name(site) : "without a name");
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

void Trial::without_gpus_per_node() {
  if (!refusal_.spec->gpus_per_node) return;
  JobSpec spec = *refusal_.spec;
  spec.gpus_per_node.reset();
  add("without gpusPerNode", outcome_of(spec), spec);
}

void Trial::of_several_models() {
  if (refusal_.filters.size() < 2) return;
  JobSpec spec = *refusal_.spec;
  spec.mixed_gpus = true;
  add("GPUs of several models (mixedGpus)", outcome_of(spec), spec);
}

void Trial::with_less_beside() {
  JobSpec spec = *refusal_.spec;
  if (spec.exclusive) {
    spec.exclusive.reset();
    add("without exclusive " + std::string(to_string(*refusal_.spec->exclusive)), outcome_of(spec), spec);
    spec.exclusive = refusal_.spec->exclusive;
  }
  if (const std::uint32_t asked = spec.spares_per_domain; asked > 0) {
    // Most spares first: what fits with n fits with fewer.
    std::uint32_t fits = 0;
    std::uint32_t fails = asked;
    while (fails - fits > 1) {
      spec.spares_per_domain = fits + (fails - fits) / 2;
      (outcome_of(spec) == Outcome::placed ? fits : fails) = spec.spares_per_domain;
    }
    spec.spares_per_domain = fits;
    add(fmt::format("sparesPerDomain {} -> {}", asked, fits), outcome_of(spec), spec);
    spec.spares_per_domain = asked;
  }
  if (spec.spread) {
    spec.spread.reset();
    add("without spread", outcome_of(spec), spec);
  }
}

void Trial::with_excluded_hosts() {
  if (refusal_.excluded.empty()) return;
  PlacementTransaction now(*refusal_.now, fabric_.topology());
  PlacementTransaction empty(*refusal_.empty, fabric_.topology());
  for (const HostId host : refusal_.excluded) {
    now.set_available(host, true);
    empty.set_available(host, true);
  }
  JobSpec spec = *refusal_.spec;
  spec.exclude_nodes.clear();
  add("without excludeNodes", outcome_of(spec), spec);
}

void Trial::with_tolerations() {
  const std::size_t before = found_.size();
  for (const TolerantJob& job : refusal_.tolerant) {
    const bool all = job.taint.empty();
    if (all && found_.size() > before) break;
    (void)fits_empty();  // of the job as it is
    tolerant_ = &job;
    add(all ? "tolerating all taints" : "tolerating the taint " + job.taint, outcome_of(job.spec), job.spec);
    tolerant_ = nullptr;
  }
}

// Whether it is placed with these hosts available, too.
bool Trial::fits_with(std::span<const HostId> hosts) {
  if (hosts.empty() || rank_count(refusal_.spec->parallelism) > refusal_.limits.now) return false;
  PlacementTransaction now(*refusal_.now, fabric_.topology());
  for (const HostId host : hosts) now.set_available(host, true);
  return fits(*refusal_.spec, *refusal_.now);
}

void Trial::with_unavailable_hosts() {
  constexpr std::size_t kTriedAlone = 64;
  std::vector<HostId> drained, cut_off;
  for (const HostId host : fabric_.topology().hosts()) {
    const HostAllocation& allocation = refusal_.now->allocation(host);
    if (!allocation.unavailable || std::ranges::binary_search(refusal_.excluded, host)) continue;
    (allocation.short_of_link || allocation.cut_off ? cut_off : drained).push_back(host);
  }
  if (fits(*refusal_.spec, *refusal_.now)) return;  // it is not GPUs that it lacks
  const auto count = [](std::size_t nodes, std::string_view what) {
    return fmt::format("{}{}{}", nodes, what, nodes == 1 ? " node" : " nodes");
  };
  // One link is repaired sooner than many.
  for (std::size_t i = 0; i < std::min(cut_off.size(), kTriedAlone); ++i) {
    if (!fits_with(std::span(cut_off).subspan(i, 1))) continue;
    const std::string name(fabric_.topology().name(cut_off[i]));
    const bool is_apart = refusal_.now->allocation(cut_off[i]).cut_off;
    return add_returned(is_apart ? "after the links that join " + name + " to the rest return"
                                 : "after the link of " + name + " returns",
                        std::span(cut_off).subspan(i, 1), true);
  }
  if (fits_with(cut_off))
    return add_returned("after the links of " + count(cut_off.size(), "") + " return", cut_off, true);
  if (fits_with(drained)) return add_returned("with " + count(drained.size(), " drained") + " back", drained, false);
  if (cut_off.empty() || drained.empty()) return;
  const std::size_t links = cut_off.size();
  cut_off.insert(cut_off.end(), drained.begin(), drained.end());
  if (!fits_with(cut_off)) return;
  add_returned(
      "with " + count(drained.size(), " drained") + " back and after the links of " + count(links, "") + " return",
      cut_off, true);
}

}  // namespace

std::vector<Counterfactual> counterfactuals(const PlacementFabric& fabric, JobSearch& search,
                                            const ChangeQuestion& question) {
  Trial trial(fabric, search, question);
  trial.fewer("pipeline", &Parallelism::pipeline);
  trial.fewer("data", &Parallelism::data);
  trial.farther("context", &JobSpec::context);
  trial.farther("expert", &JobSpec::expert);
  trial.farther("pipeline", &JobSpec::stage);
  trial.farther("job", &JobSpec::job);
  trial.across_sites();
  trial.without_gpus_per_node();
  trial.of_several_models();
  trial.with_less_beside();
  trial.with_excluded_hosts();
  trial.with_tolerations();
  trial.with_unavailable_hosts();
  return trial.take();
}

}  // namespace railweave::scheduler
