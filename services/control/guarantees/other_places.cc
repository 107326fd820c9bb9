#include "services/control/guarantees/other_places.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "scheduler/admission/seat_search.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "services/control/guarantees/job_seats.h"
#include "services/control/guarantees/port_rules.h"

namespace railweave::control {
namespace {

using fabric::GpuId;
using fabric::HostId;
using scheduler::JobSpec;
using scheduler::SeatSearch;

constexpr std::size_t kMaxPatterns = 4;  // places for which a pattern's load is computed, at each share of its rate

class PlaceSearch {
 public:
  PlaceSearch(const PlaceQuestion& question, scheduler::Placer& placer, GuaranteeBook& book, const JobReach& reach,
              scheduler::SearchWork& work)
      : asked_(question), placer_(placer), book_(book), reach_(reach), work_(work) {}

  SearchedPlaces run();

 private:
  // At this share of the rate of each port.
  SeatSearch::Verdict search(const JobSeats& seats, const SeatScope& scope, std::int64_t permille = 1000);
  SeatSearch::Verdict search_for_pattern(const JobSeats& seats, const SeatScope& scope);
  bool offer(const JobSeats& seats, const SeatScope& scope, std::span<const std::uint32_t> chosen);
  bool place_on(const std::vector<GpuId>& gpus);
  [[nodiscard]] std::optional<scheduler::SeatDemand> demand(const JobSeats& seats) const;
  [[nodiscard]] std::string looked_at_text() const;

  const PlaceQuestion& asked_;
  scheduler::Placer& placer_;
  GuaranteeBook& book_;
  const JobReach& reach_;
  scheduler::SearchWork& work_;
  std::optional<OtherPlace> found_;
  std::uint64_t looked_at_ = 0;
  // Of sets whose plain load fits: refused by admission, and for what seats that are alike on links may differ in.
  std::uint64_t refused_ = 0, misplaced_ = 0;
  bool by_counts_ = false;  // some scope was ruled out by the links of its switches alone
};

std::optional<scheduler::SeatDemand> PlaceSearch::demand(const JobSeats& seats) const {
  const auto& classes = book_.classes();
  const auto own = std::ranges::find(classes, asked_.terms.classes.front(), &fabric::QosClass::name);
  if (own == classes.end()) return std::nullopt;
  scheduler::SeatDemand demand{.units = seats.units, .rate = asked_.terms.guaranteed};
  demand.per_job = asked_.terms.basis == scheduler::RateBasis::per_job;
  demand.reserved_permille = asked_.terms.reserved_permille;
  demand.qos_class = static_cast<std::uint8_t>(own - classes.begin());
  demand.spare_a_link = asked_.terms.survives_link_failure;
  if (asked_.terms.isolation == scheduler::Isolation::lane) {
    demand.own_lanes = owned_lanes(asked_.state, classes, book_);
    if (demand.own_lanes == 0) return std::nullopt;
  }
  return demand;
}

// The placer says how ranks are laid out on these GPUs, and admission whether the guarantee is given there.
bool PlaceSearch::place_on(const std::vector<GpuId>& gpus) {
  const auto& t = asked_.state.topology();
  JobSpec there = asked_.spec;
  there.only_nodes.clear();
  std::set<HostId> hosts;
  for (const GpuId gpu : gpus) hosts.insert(t.host(gpu));
  std::vector<GpuId> others;
  for (const HostId host : hosts) {
    there.only_nodes.emplace_back(t.name(host));
    const auto& allocation = placer_.tree().allocation(host);
    for (const GpuId gpu : t.gpus(host)) {
      const bool used = (allocation.used >> t.local_index(gpu) & 1U) != 0;
      if (!used && !std::ranges::binary_search(gpus, gpu)) others.push_back(gpu);
    }
  }
  scheduler::PlacementTransaction tree(placer_.tree(), t);
  RAILWEAVE_CHECK(tree.take(others), "what is free can be taken");
  ++misplaced_;
  if (hosts.size() > JobSpec::kMaxExcludeNodes || !placer_.try_place(there)) return false;
  auto result = placer_.place_or_say_why(there);
  if (result.outcome != scheduler::Outcome::placed) return false;
  if (over_quota(asked_.state, asked_.spec, result.placement)) return false;
  if (cut_off(asked_.state, asked_.spec, result.placement, reach_)) return false;
  --misplaced_;
  auto granted =
      grant(asked_.state, {asked_.job, asked_.spec, result.placement, asked_.terms, {}}, asked_.ledger, book_);
  if (!granted) {
    ++refused_;
    return false;
  }
  for (const auto& warning : granted->warnings) result.warnings.push_back(warning);
  found_ = OtherPlace{std::move(result), std::move(*granted)};
  return true;
}

bool PlaceSearch::offer(const JobSeats& seats, const SeatScope& scope, std::span<const std::uint32_t> chosen) {
  std::vector<GpuId> gpus;
  for (const auto seat : chosen) gpus.insert(gpus.end(), scope.gpus[seat].begin(), scope.gpus[seat].end());
  const std::size_t needed = seats.units * seats.unit_gpus;
  if (gpus.size() > needed) {  // a node is used in part: the last whose units are enough for what is too many
    std::size_t too_many = gpus.size() - needed;
    gpus.clear();
    for (std::size_t i = chosen.size(); i-- > 0;) {
      const auto& own = scope.gpus[chosen[i]];
      const std::size_t left_out = own.size() > too_many ? std::exchange(too_many, 0) : 0;
      gpus.insert(gpus.end(), own.begin(), own.end() - static_cast<std::ptrdiff_t>(left_out));
    }
  }
  std::ranges::sort(gpus);
  return place_on(gpus);
}

// A pattern loads links less than a hose of the same rate, by how much depends on the order of ranks.
SeatSearch::Verdict PlaceSearch::search_for_pattern(const JobSeats& seats, const SeatScope& scope) {
  for (const std::int64_t permille : {1000, 500, 250, 0}) {
    if (search(seats, scope, permille) == SeatSearch::Verdict::found) return SeatSearch::Verdict::found;
  }
  return SeatSearch::Verdict::gave_up;
}

SeatSearch::Verdict PlaceSearch::search(const JobSeats& seats, const SeatScope& scope, std::int64_t permille) {
  auto wanted = demand(seats);
  if (!wanted) return SeatSearch::Verdict::gave_up;
  if (asked_.terms.promise == fabric::TrafficPromise::pattern) wanted->most_offers = kMaxPatterns;
  wanted->rate = RateMbps(wanted->rate.value() * permille / 1000);
  SeatSearch search(scope.seats, scheduler::SeatLoads(asked_.ledger, book_.loads(), *wanted), work_);
  const auto verdict = search.run([&](std::span<const std::uint32_t> chosen) { return offer(seats, scope, chosen); });
  looked_at_ += search.looked_at();
  by_counts_ = by_counts_ || (verdict == SeatSearch::Verdict::none && search.proof() == SeatSearch::Proof::counts);
  return verdict;
}

std::string PlaceSearch::looked_at_text() const {
  return fmt::format("{}{}", looked_at_, looked_at_ == 1 ? " set of free nodes" : " sets of free nodes");
}

SearchedPlaces PlaceSearch::run() {
  const auto seats = job_seats(*asked_.state.placement_fabric, placer_.tree(), asked_.spec);
  if (!seats) {
    return {{}, false, "other places were not searched: the job is spread, or holds more GPUs than its ranks"};
  }
  const bool is_hose = asked_.terms.promise == fabric::TrafficPromise::hose;
  bool all_proven = seats->exact && is_hose;
  for (const SeatScope& scope : seats->scopes) {
    const auto verdict = is_hose ? search(*seats, scope) : search_for_pattern(*seats, scope);
    if (verdict == SeatSearch::Verdict::found) return {std::move(found_), false, {}};
    all_proven = all_proven && verdict == SeatSearch::Verdict::none;
  }
  // What survives a failure is not the same for all sets that carry the same without one.
  // Nor is what other roles send and receive, which the search does not count.
  const bool is_own = !asked_.terms.survives_link_failure && asked_.spec.peers.empty();
  all_proven = all_proven && misplaced_ == 0 && (refused_ == 0 || is_own);
  if (all_proven) {
    return {{},
            true,
            by_counts_
                ? "no other free nodes have room, whichever are taken: the links around their switches are too full"
                : "no other free nodes have room: all sets were compared, " + looked_at_text() + " one by one"};
  }
  return {
      {}, false, "it is not known that no other free nodes have room: the search gave up after " + looked_at_text()};
}

}  // namespace

SearchedPlaces other_place(const PlaceQuestion& question, scheduler::Placer& placer, GuaranteeBook& book,
                           const JobReach& reach, scheduler::SearchWork& work) {
  return PlaceSearch(question, placer, book, reach, work).run();
}

bool may_hold_elsewhere(const std::string& code) {
  return code == "admission.linksFull" || code == "admission.lanesTaken" || code == "admission.hashedRoutes";
}

}  // namespace railweave::control
