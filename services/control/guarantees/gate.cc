#include "services/control/guarantees/gate.h"

#include <algorithm>
#include <utility>

#include "services/control/guarantees/admitted_placement.h"
#include "services/control/guarantees/role_senders.h"

namespace railweave::control {
namespace {

// Whether one finds a place where the other does.
bool asks_alike(const scheduler::JobSpec& a, const scheduler::JobSpec& b) {
  scheduler::JobSpec other = b;
  other.name = a.name;
  other.priority = a.priority;
  other.external = a.external;
  other.min_runtime_s = a.min_runtime_s;
  return a == other;
}

void release_from(fabric::Ledger& ledger, scheduler::QueueJobId id) {
  const std::string name = to_string(JobId(id));
  for (const auto& reservation : ledger.reservations_of(name)) (void)ledger.release(name, reservation->qos_class);
}

}  // namespace

void SearchedJobs::at(const ClusterState& state) {
  if (state.queue_version == queue_version_ && state.view_version == view_version_) return;
  queue_version_ = state.queue_version;
  view_version_ = state.view_version;
  clear();
}

Message SearchedJobs::find(const scheduler::JobSpec& spec) const {
  const auto at = std::ranges::find_if(known_, [&](const Known& one) { return asks_alike(one.spec, spec); });
  return at == known_.end() ? Message() : at->why;
}

void SearchedJobs::add(const scheduler::JobSpec& spec, Message why) {
  if (known_.size() < kMost) known_.push_back({spec, std::move(why)});
}

Result<void> GuaranteeGate::open_ledger() {
  if (ledger_) return {};
  if (auto brought = book_.bring_to(state_); !brought) return brought;
  ledger_ = book_.ledger();
  for (const auto id : evicted_) release_from(*ledger_, id);  // before the first request for bandwidth
  return {};
}

std::expected<Grant, Message> GuaranteeGate::grant_somewhere(const scheduler::QueuedJob& job,
                                                             const scheduler::Contract& terms,
                                                             const fabric::Ledger& ledger,
                                                             scheduler::Placement& placement,
                                                             scheduler::Placer& placer) {
  const std::string name = to_string(JobId(job.id));
  auto admitted = grant(state_, {name, *job.spec, placement, terms, {}}, ledger, book_);
  if (admitted) return std::move(*admitted);
  Error& refused = admitted.error().error;
  if (!may_hold_elsewhere(refused.code)) return std::unexpected(refused.whole());
  if (Message known = searched_.find(*job.spec); !known.empty()) return std::unexpected(std::move(known));
  if (work_.left == 0) {
    left_some_ = true;
    refused.append("; other places are searched in a later cycle");
    return std::unexpected(refused.whole());
  }
  scheduler::SearchWork work{std::min(work_.left, kWorkForPlaces)};
  const std::uint64_t given = work.left;
  auto searched = other_place({state_, *job.spec, terms, ledger, name}, placer, book_, reach_, work);
  (void)work_.spend(std::max<std::uint64_t>(1, given - work.left));
  if (!searched.found) {
    refused.append("; " + searched.text);
    Message why = refused.whole();
    searched_.add(*job.spec, why);
    return std::unexpected(std::move(why));
  }
  placement = std::move(searched.found->result.placement);
  return std::move(searched.found->grant);
}

Message GuaranteeGate::start(const scheduler::QueuedJob& job, scheduler::Placement& placement,
                             std::span<const scheduler::QueueJobId> evicted, scheduler::Placer& placer) {
  const auto contract = state_.contracts->find(job.spec->tenant);
  const bool counts_domains =
      !ahead_ && contract != state_.contracts->end() && contract->second.terms.max_nvlink_domains;
  if (counts_domains && domains_counted_.contains(job.spec->tenant)) {
    return "its tenant has a limit of NVLink domains, and another job of the tenant starts in the same cycle";
  }
  if (!ahead_) {
    if (auto over = over_quota(state_, *job.spec, placement)) return over->error.whole();
  }
  if (auto cut = cut_off(state_, *job.spec, placement, reach_)) return cut->error.whole();
  const auto terms = job_terms(state_, *job.spec);
  if (!terms) return terms.error().whole();
  const auto pass = [&] {
    if (!evicted.empty()) searched_.clear();
    evicted_.insert(evicted.begin(), evicted.end());
    if (counts_domains) domains_counted_.insert(job.spec->tenant);
    return Message();
  };
  if (!*terms && !receives_from_roles(*job.spec)) {
    if (ledger_) {
      for (const auto id : evicted) release_from(*ledger_, id);
    }
    return pass();
  }
  if (auto opened = open_ledger(); !opened) return opened.error().whole();
  fabric::Ledger trial = *ledger_;
  if (!evicted.empty()) searched_.clear();
  for (const auto id : evicted) release_from(trial, id);
  if (!*terms) {  // best effort, where what others send to it is guaranteed
    auto renewed = renew_senders(state_, *job.spec, to_string(JobId(job.id)), placement, trial, book_, nullptr);
    if (!renewed) return renewed.error().error.whole();
    ledger_ = std::move(trial);
    return pass();
  }
  auto admitted = grant_somewhere(job, **terms, trial, placement, placer);
  if (!admitted) {
    if (!evicted.empty()) searched_.clear();
    return admitted.error();
  }
  put_renewed(trial, admitted->renewed);
  if (admitted->reservation != nullptr) trial.reserve(admitted->reservation);
  ledger_ = std::move(trial);
  granted_.insert_or_assign(job.id, std::move(*admitted));
  return pass();
}

const Grant* GuaranteeGate::granted(scheduler::QueueJobId job) const {
  const auto at = granted_.find(job);
  return at == granted_.end() ? nullptr : &at->second;
}

void GuaranteeGate::end(scheduler::QueueJobId job) {
  searched_.clear();
  if (ledger_) {
    release_from(*ledger_, job);
  } else {
    evicted_.insert(job);
  }
}

}  // namespace railweave::control
