#include "services/control/decide/submission.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "fabric/base/check.h"
#include "scheduler/job/alternative_shapes.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "services/control/decide/tenant_limit.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/bandwidth_counterfactuals.h"
#include "services/control/guarantees/other_places.h"
#include "services/control/guarantees/refused_placement.h"
#include "services/control/views/cpu_roles.h"

namespace railweave::control {
namespace {

using scheduler::Counterfactual;
using scheduler::JobSpec;
using scheduler::Outcome;
using StartResult = std::expected<JobStart, Rejection>;

// Of refusals that have one: whether the job may start later.
std::optional<Outcome> outcome_of(const Rejection& refused) {
  if (refused.placement != nullptr) return refused.placement->outcome;
  if (refused.error.kind == ErrorKind::impossible) return Outcome::never;
  if (refused.error.kind == ErrorKind::conflict) return Outcome::not_now;
  return std::nullopt;
}

class Starter {
 public:
  Starter(const SubmissionInput& in, const std::shared_ptr<const Job>& job, bool with_alternatives,
          scheduler::SearchWork& work)
      : in_(in), job_(job), with_alternatives_(with_alternatives), work_(work) {}

  StartResult run() {
    const ClusterState& state = in_.state;
    if (auto over = over_limits(state, job_->spec, false)) return std::unexpected(std::move(*over));
    const auto tenant = state.tenants->find(job_->spec.tenant);
    const bool quota = tenant != state.tenants->end() && tenant->second.quota_gpus;
    if (state.jobs.queued() != 0 || !state.reservations->empty() || quota) return beside_queue();
    return at_once();
  }

 private:
  std::expected<AdmittedPlacement, Rejection> as_planned();
  StartResult at_once();
  StartResult beside_queue();

  const SubmissionInput& in_;
  const std::shared_ptr<const Job>& job_;
  const bool with_alternatives_;
  scheduler::SearchWork& work_;
};

// Where the plan of its gang has it, if the GPUs are free and its guarantee holds there. Else refused: with nothing to say.
std::expected<AdmittedPlacement, Rejection> Starter::as_planned() {
  const ClusterState& state = in_.state;
  if (in_.place == nullptr) return std::unexpected(Rejection{});
  scheduler::Placer& placer = in_.placers.at(state);
  scheduler::PlacementTransaction trial(placer.tree(), state.topology());
  if (!trial.take(in_.place->gpu_of_rank)) return std::unexpected(Rejection{});
  trial.rollback();
  AdmittedPlacement placed;
  placed.result.outcome = Outcome::placed;
  placed.result.placement = *in_.place;
  auto& placement = placed.result.placement;
  placement.predicted = placer.predict(job_->spec, placement.gpu_of_rank);
  if (auto cut = cut_off(state, job_->spec, placement, in_.placers.reach(state)))
    return std::unexpected(std::move(*cut));
  const auto terms = job_terms(state, job_->spec);
  if (!terms) return std::unexpected(Rejection{terms.error(), nullptr});
  auto granted = grant_within_quota(state, job_->spec, placement, *terms, in_.placers.guarantees(), nullptr);
  if (!granted) return std::unexpected(std::move(granted.error()));
  placed.guarantee = std::move(granted->guarantee);
  placed.reservation = std::move(granted->reservation);
  placed.warnings = std::move(granted->warnings);
  placed.result.warnings = placer.warnings_of(job_->spec, placement);
  placed.result.warnings.insert(placed.result.warnings.end(), placed.warnings.begin(), placed.warnings.end());
  return placed;
}

StartResult Starter::at_once() {
  const ClusterState& state = in_.state;
  auto placed = as_planned();
  if (!placed) placed = admitted_placement(state, job_->spec, in_.placers, in_.now_us, with_alternatives_, &work_);
  if (!placed) return std::unexpected(std::move(placed.error()));
  // The limit counts the GPUs that the placement holds idle, too.
  if (const auto tenant = state.tenants->find(job_->spec.tenant); tenant != state.tenants->end()) {
    if (auto over = over_gpu_limit(state, tenant->second, placed->result.placement.held_gpus().size())) {
      return std::unexpected(Rejection{std::move(*over), nullptr});
    }
  }
  auto job = std::make_shared<Job>(*job_);
  job->state = JobState::placed;
  seat_cpu_roles(state, job->spec, placed->result.placement);
  job->placement = placed->result.placement;
  job->guarantee = placed->guarantee;
  job->nodes = node_names(state.topology(), job->placement.gpu_of_rank);
  return JobStart{std::move(*placed), {JobPlaced{std::move(job), ""}}};
}

StartResult Starter::beside_queue() {
  const ClusterState& state = in_.state;
  auto verdict = in_.queue.try_start(state, job_, in_.now_us);
  if (!verdict.events.empty()) {
    JobStart start{{.result = {}, .guarantee = std::move(verdict.grant.guarantee)}, std::move(verdict.events)};
    start.placed.reservation = std::move(verdict.grant.reservation);
    start.placed.warnings = std::move(verdict.grant.warnings);
    start.placed.result.outcome = Outcome::placed;
    if (with_alternatives_) {
      start.placed.result.alternatives = in_.placers.at(state).place_with_alternatives(job_->spec).alternatives;
    }
    start.placed.result.placement = std::move(verdict.placement);
    seat_cpu_roles(state, job_->spec, start.placed.result.placement);
    auto& warnings = start.placed.result.warnings;
    warnings = in_.placers.at(state).warnings_of(job_->spec, start.placed.result.placement);
    warnings.insert(warnings.end(), start.placed.warnings.begin(), start.placed.warnings.end());
    return start;
  }
  const auto& why = verdict.reason;
  if (why.placement && why.placement->outcome != Outcome::placed) {
    return std::unexpected(refused_placement(*why.placement));
  }
  auto alone = admitted_placement(state, job_->spec, in_.placers, in_.now_us, false, &work_);
  if (!alone) return std::unexpected(std::move(alone.error()));
  return std::unexpected(Rejection{error_of(ErrorKind::conflict, "jobs.mustWait",
                                            "GPUs are free, but the job would have to wait: " + scheduler::said(why),
                                            {}, "submit it with \"queue\": true to wait in the queue"),
                                   nullptr});
}

// What the job's tenant may be given, whatever is free.
scheduler::GpuLimits limits_of(const ClusterState& state, const JobSpec& spec) {
  scheduler::GpuLimits limits;
  const auto held = state.gpus_held->find(spec.tenant);
  const std::uint64_t holds = held == state.gpus_held->end() ? 0 : held->second;
  const auto at_most = [&](std::uint64_t gpus) {
    limits.ever = std::min(limits.ever, gpus);
    limits.now = std::min(limits.now, gpus > holds ? gpus - holds : 0);
  };
  if (const auto tenant = state.tenants->find(spec.tenant); tenant != state.tenants->end()) {
    if (tenant->second.max_gpus) at_most(*tenant->second.max_gpus);
    if (const auto most = most_in_quota(state, tenant->second)) at_most(*most);
  }
  if (const auto contract = state.contracts->find(spec.tenant); contract != state.contracts->end()) {
    if (contract->second.terms.max_gpus) at_most(*contract->second.terms.max_gpus);
  }
  return limits;
}

// Every node in service is on one network, or none is known: ranks reach each other wherever they are.
bool is_joined(const ClusterState& state, const scheduler::NetworkParts& parts) {
  if (parts.all_alike()) return true;
  if (parts.all().size() != 1) return false;
  const fabric::Topology& topology = state.topology();
  return std::ranges::all_of(topology.gpus(), [&](fabric::GpuId gpu) {
    return parts.of(gpu).size() == 1 || state.allocations[topology.host(gpu).index()].unavailable;
  });
}

// Whether a job starts where GPUs are there for it that links join: nothing else is counted, kept or promised.
bool gpus_decide(const SubmissionInput& in, const JobSpec& spec) {
  const ClusterState& state = in.state;
  const auto tenant = state.tenants->find(spec.tenant);
  const bool quota = tenant != state.tenants->end() && tenant->second.quota_gpus;
  if (state.jobs.queued() != 0 || !state.reservations->empty() || quota) return false;
  if (spec.exclusive || spec.spares_per_domain > 0) return false;  // it may hold more than its ranks
  const auto terms = job_terms(state, spec);
  return terms && !*terms && !state.contracts->contains(spec.tenant);
}

// Asks what a change would do, the way a submission is answered.
class Changes {
 public:
  Changes(const SubmissionInput& in, const std::shared_ptr<const Job>& job, Outcome present)
      : in_(in), job_(job), present_(present) {}

  void ask(Counterfactual change) {
    if (found_.size() == kMost || asked_ == 2 * kMost) return;
    ++asked_;
    const auto outcome = change.request == nullptr ? with_nodes_back(change) : with_request(change.request);
    if (!outcome || *outcome == Outcome::never || (*outcome == Outcome::not_now && present_ != Outcome::never)) return;
    change.outcome = *outcome;
    found_.push_back(std::move(change));
  }
  std::vector<Counterfactual> take() { return std::move(found_); }

 private:
  static constexpr std::size_t kMost = 12;

  std::optional<Outcome> start(const SubmissionInput& in, const std::shared_ptr<const Job>& job) {
    constexpr std::uint64_t kRanksPerJob = 4;  // that waits
    const std::uint64_t jobs = in.state.jobs.queued() * kRanksPerJob;
    if (!may_spend(scheduler::rank_count(job->spec.parallelism) + jobs)) return std::nullopt;
    const auto started = Starter(in, job, false, work_).run();
    return started ? Outcome::placed : outcome_of(started.error());
  }
  std::optional<Outcome> with_request(const std::shared_ptr<const JobSpec>& request) {
    // The place itself does not matter: working one out for tens of thousands of ranks is what a what-if costs.
    if (!over_limits(in_.state, *request, false) && gpus_decide(in_, *request) && fits(*request)) {
      return Outcome::placed;
    }
    auto changed = std::make_shared<Job>(*job_);
    changed->spec = *request;
    return start(in_, changed);
  }
  [[nodiscard]] bool fits(const JobSpec& request) {
    scheduler::Placer& placer = in_.placers.at(in_.state);
    if (!placer.fits(request)) return false;
    if (in_.placers.parts() != nullptr && is_joined(in_.state, *in_.placers.parts())) return true;
    return may_spend(scheduler::rank_count(request.parallelism)) && placer.fits_joined(request);
  }
  // A refusal may cost as much as an answer, not as many answers as there are changes: those that there is no work left
  // for are not offered.
  [[nodiscard]] bool may_spend(std::uint64_t work) {
    constexpr std::uint64_t kMaxWork = 1U << 16U;  // ranks that are placed, and jobs that a cycle of the queue looks at
    if (spent_ != 0 && spent_ + work > kMaxWork) return false;
    spent_ += work;
    return true;
  }
  // Drained nodes change no routes. What links would change is known only of a job that asks for nothing on them.
  std::optional<Outcome> with_nodes_back(const Counterfactual& change) {
    const ClusterState& state = in_.state;
    if (change.links_return) {
      const auto terms = job_terms(state, job_->spec);
      const bool plain = terms && !*terms && state.jobs.queued() == 0 && state.reservations->empty();
      return plain ? std::optional(change.outcome) : std::nullopt;
    }
    ClusterState after = state;
    for (const auto host : change.returned) {
      after.mark({DrainKind::node, std::string(state.topology().name(host))}, false);
    }
    const auto outcome = start({after, in_.placers, in_.queue, in_.now_us}, job_);
    (void)in_.placers.at(state);
    return outcome;
  }

  const SubmissionInput& in_;
  const std::shared_ptr<const Job>& job_;
  const Outcome present_;
  scheduler::SearchWork work_{kWorkForPlaces};  // of all that is asked
  std::uint64_t spent_ = 0;
  std::size_t asked_ = 0;
  std::vector<Counterfactual> found_;
};

// Refused for what the request says of itself: no fabric would change that.
bool is_for_its_words(const std::string& code) {
  return code == "jobs.invalid" || code == "jobs.unknownLevel" || code == "jobs.unknownLabel";
}

// A job of several shapes: started in each, of which the best is taken.
class ShapeChoice {
 public:
  ShapeChoice(const SubmissionInput& in, const Job& job, scheduler::SearchWork& work)
      : in_(in), job_(job), work_(work) {}

  StartResult run(bool with_alternatives) {
    for (const JobSpec& spec : scheduler::specs_by_shape(job_.spec)) ask(spec);
    if (merits_.empty()) {
      RAILWEAVE_CHECK(refused_.has_value(), "a job has a shape");
      if (refused_->placement == nullptr) return std::unexpected(std::move(*refused_));
      auto explained = *refused_->placement;
      explained.shapes = std::move(answers_);
      refused_->placement = std::make_shared<const scheduler::PlacementResult>(std::move(explained));
      return std::unexpected(std::move(*refused_));
    }
    Offer taken = std::move(offers_[scheduler::best_first(merits_).front()]);
    answers_[taken.at].taken = true;
    auto& result = taken.start.placed.result;
    if (with_alternatives) {
      result.alternatives = in_.placers.at(in_.state).place_with_alternatives(taken.job->spec).alternatives;
    }
    result.shapes = std::move(answers_);
    for (EventBody& event : taken.start.events) keep_shapes(event);
    return std::move(taken.start);
  }

 private:
  struct Offer {
    std::size_t at = 0;  // in answers_
    std::shared_ptr<const Job> job;
    JobStart start;
  };

  void ask(const JobSpec& spec) {
    auto shaped = std::make_shared<Job>(job_);
    shaped->spec = spec;
    const std::shared_ptr<const Job> job = std::move(shaped);
    auto start = Starter(in_, job, false, work_).run();
    scheduler::ShapeAnswer answer{.parallelism = spec.parallelism};
    if (start) {
      answer.outcome = Outcome::placed;
      offer(job, std::move(*start), answer);
    } else {
      answer.outcome = outcome_of(start.error()).value_or(Outcome::never);
      answer.code = start.error().error.code;
      answer.reason = start.error().error.whole();
      const std::uint64_t ranks = scheduler::rank_count(spec.parallelism);
      if (!refused_ || ranks < refused_ranks_) {
        refused_ = std::move(start.error());
        refused_ranks_ = ranks;
      }
    }
    answers_.push_back(std::move(answer));
  }
  void offer(const std::shared_ptr<const Job>& job, JobStart start, scheduler::ShapeAnswer& answer) {
    const auto& placement = start.placed.result.placement;
    double unit_us = std::numeric_limits<double>::infinity();
    if (placement.predicted) {
      answer.step_us = placement.predicted->step_us;
      answer.communication_us = placement.predicted->communication_us;
    }
    if (const auto period_us = scheduler::Placer::period_us(job->spec, placement)) {
      answer.unit_of_work_us = scheduler::unit_of_work_us(job->spec, *period_us);
      const auto priced_us = in_.placers.at(in_.state).priced_period_us(job->spec, placement);
      unit_us = scheduler::unit_of_work_us(job->spec, *priced_us);
    }
    merits_.push_back({unit_us, scheduler::rank_count(job->spec.parallelism)});
    offers_.push_back({answers_.size(), job, std::move(start)});
  }
  // In the journal the job has all its shapes, and the one that it takes as its parallelism.
  void keep_shapes(EventBody& event) const {
    auto* const placed = std::get_if<JobPlaced>(&event);
    if (placed == nullptr || placed->job->id != job_.id) return;
    auto job = std::make_shared<Job>(*placed->job);
    job->spec.shapes = job_.spec.shapes;
    placed->job = std::move(job);
  }

  const SubmissionInput& in_;
  const Job& job_;
  scheduler::SearchWork& work_;
  std::vector<scheduler::ShapeAnswer> answers_;
  std::vector<Offer> offers_;
  std::vector<scheduler::ShapeMerit> merits_;  // of offers_
  std::optional<Rejection> refused_;           // of the smallest shape
  std::uint64_t refused_ranks_ = 0;
};

}  // namespace

std::optional<Rejection> over_limits(const ClusterState& state, const JobSpec& spec, bool queued) {
  const auto tenant = state.tenants->find(spec.tenant);
  if (tenant == state.tenants->end()) return std::nullopt;
  const std::uint64_t gpus = scheduler::fewest_ranks(spec);
  auto over = over_gpu_limit(state, tenant->second, gpus);
  if (over && (!queued || over->kind == ErrorKind::impossible)) return Rejection{std::move(*over), nullptr};
  if (auto never = never_in_quota(state, tenant->second, gpus)) return Rejection{std::move(*never), nullptr};
  return std::nullopt;
}

std::expected<JobStart, Rejection> start_job(const SubmissionInput& in, const std::shared_ptr<const Job>& job,
                                             bool with_alternatives) {
  scheduler::SearchWork work{kWorkForPlaces};
  if (!job->spec.shapes.empty()) return ShapeChoice(in, *job, work).run(with_alternatives);
  return Starter(in, job, with_alternatives, work).run();
}

Rejection with_changes(const SubmissionInput& in, const std::shared_ptr<const Job>& requested, Rejection refused) {
  std::shared_ptr<const Job> job = requested;
  if (!job->spec.shapes.empty()) {
    auto smallest = std::make_shared<Job>(*job);
    smallest->spec = scheduler::smallest_shape(job->spec);
    job = std::move(smallest);
  }
  refused = as_answer(in.state, std::move(refused));
  if (refused.placement == nullptr || is_for_its_words(refused.error.code)) return refused;
  Changes changes(in, job, refused.placement->outcome);
  for (auto& change : in.placers.at(in.state).changes(job->spec, limits_of(in.state, job->spec))) {
    changes.ask(std::move(change));
  }
  if (const auto terms = job_terms(in.state, job->spec); terms && *terms) {
    for (auto& change : bandwidth_counterfactuals(job->spec, **terms, refused.links)) changes.ask(std::move(change));
  }
  auto explained = *refused.placement;
  explained.explanation.counterfactuals = changes.take();
  refused.placement = std::make_shared<const scheduler::PlacementResult>(std::move(explained));
  return refused;
}

}  // namespace railweave::control
