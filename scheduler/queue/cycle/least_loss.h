// The set of victims with the least work lost, by branch and bound: exact unless its work runs out, and then still no
// worse than what it was given. Victims are decided from the dearest on, each first to stay, then to go. A branch ends
// where those that are left could not make room, or where what it has lost, and must still lose to free enough GPUs, is no
// less than the best known.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/queue/cycle/preemption.h"

namespace railweave::scheduler {

class LeastLoss {
 public:
  static constexpr std::uint64_t kMaxAsked = 2'000;  // whether the job fits
  static constexpr std::uint64_t kMaxSteps = 20'000;

  // `from`: candidates of the question that may go at all. On the tree of the placer, which is as it was afterwards.
  LeastLoss(Placer& placer, const PreemptionQuestion& question, std::vector<std::size_t> from);

  // Improves `best`, a set of them that makes room. True: it is proven to be the least.
  bool improve(Eviction& best);

 private:
  void decide(std::size_t at);
  [[nodiscard]] bool makes_room_without(std::size_t at);
  [[nodiscard]] double least_more(std::size_t at) const;  // that those from here on must lose
  [[nodiscard]] bool is_out_of_work() const { return asked_ >= kMaxAsked || steps_ >= kMaxSteps; }
  [[nodiscard]] const PossibleVictim& victim(std::size_t at) const { return question_.candidates[order_[at]]; }

  Placer& placer_;
  const PreemptionQuestion& question_;
  std::vector<std::size_t> order_;     // the dearest first
  std::vector<std::size_t> by_price_;  // places in order_, the least lost per GPU first
  PlacementTransaction tree_;          // all are released but those that stay
  std::uint64_t free_before_ = 0;
  std::vector<std::size_t> gone_, rest_;  // those that go, as candidates; with those not decided
  std::uint64_t gone_gpus_ = 0;
  double lost_ = 0;
  Eviction* best_ = nullptr;
  std::uint64_t asked_ = 0, steps_ = 0;
};

}  // namespace railweave::scheduler
