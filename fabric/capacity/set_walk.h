// The same walk as DigestWalk with the members of every set of source groups spelled out as bits: for links that not
// the same groups cross towards every target, and for packets that are lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/capacity/hose_frontier.h"
#include "fabric/capacity/plane_hose.h"

namespace railweave::fabric {

class SetWalk {
 public:
  using Set = std::span<const std::uint64_t>;  // of groups, 64 per word

  explicit SetWalk(std::size_t switches) : frontier_(switches) {}

  // For another job or plane. O(groups).
  void start(const PlaneHose& hose);
  [[nodiscard]] std::size_t words() const { return words_; }  // of a set

  // visit(link, set) for every link that packets to the target cross behind their first hop, and
  // visit(PlaneHose::kNone, set) for the groups whose packets are lost behind it or loop. A link that routes of several
  // lengths cross is visited several times.
  template <class Visit>
  void walk(const PlaneHose& hose, std::uint32_t target, Visit visit);

 private:
  struct Arrived {
    static constexpr std::uint32_t kNone = UINT32_MAX;
    std::uint32_t first_word = kNone;  // in sets_
  };

  void add_first_hops(const PlaneHose& hose, std::uint32_t target);
  [[nodiscard]] std::uint32_t set_at(std::uint32_t sw) {  // its first word; may move sets_
    Arrived& arrived = frontier_.at(sw);
    if (arrived.first_word == Arrived::kNone) {
      arrived.first_word = static_cast<std::uint32_t>(sets_.size());
      sets_.resize(sets_.size() + words_);
    }
    return arrived.first_word;
  }

  std::size_t words_ = 0;
  std::vector<std::uint64_t> bundles_;  // the members of each
  std::vector<std::uint64_t> sets_;
  HoseFrontier<Arrived> frontier_;
};

template <class Visit>
void SetWalk::walk(const PlaneHose& hose, std::uint32_t target, Visit visit) {
  frontier_.clear();
  sets_.clear();
  add_first_hops(hose, target);
  const std::uint32_t home = hose.home_of(target);
  for (unsigned hop = 0; !frontier_.empty(); ++hop) {
    frontier_.advance();
    for (const auto& [sw, arrived] : frontier_.present()) {
      const std::uint32_t from = arrived.first_word;
      const auto set = std::span(sets_).subspan(from, words_);
      if (std::ranges::all_of(set, [](std::uint64_t word) { return word == 0; })) continue;
      const PlaneHose::NextHop next = hose.next_hop(sw, target);
      if (next.sw == PlaneHose::kNone || hop > PlaneHose::kMaxHops) {
        visit(PlaneHose::kNone, set);
        continue;
      }
      visit(next.link, set);
      if (next.sw == home) continue;
      const std::uint32_t into = set_at(next.sw);  // `set` is not valid after this
      for (std::size_t w = 0; w < words_; ++w) sets_[into + w] |= sets_[from + w];
    }
  }
}

}  // namespace railweave::fabric
