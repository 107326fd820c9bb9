// BestFit on nested groups: the nearest level one group of which holds the whole request; of the groups that do, the
// fullest; inside it, level by level, the children that hold most first, and for what is left the fullest child that
// holds it. After "BestFit" of Kueue's topology-aware scheduling (KEP-2724, findLevelWithFitDomains), which counts
// every node for every decision; here counts are kept by FitIndex, so a decision costs what it touches.
//
// Ties go to the group with less left over, then to the one inside the fullest groups, so that whole groups stay whole,
// then to the lowest number: the answer depends on the state alone.
// Exact: slices of one size that must each stay inside one group of a level are counted by flooring in every such
// group, which is the true maximum because groups are nested. One per thread: it owns scratch memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/placement/fit/fit_index.h"
#include "scheduler/placement/fit/hierarchy.h"

namespace railweave::scheduler {

// `factor` pieces of the rung below (for the first rung: units of the FitIndex) that must share one group of `level`.
// Levels and sizes rise from rung to rung.
struct Rung {
  unsigned level = 0;
  std::uint64_t factor = 1;
  std::uint32_t most = UINT32_MAX;  // pieces that one group of the level may hold; 1 spreads them
};

enum class Fill : std::uint8_t {
  best_fit,
  fragments,  // nearness does not matter: use up the fullest leaves first (Kueue's "unconstrained")
};

struct FitRequest {
  std::span<const Rung> rungs;
  std::uint64_t count = 1;  // pieces of the last rung; units where there is none
  unsigned max_level = 0;   // the farthest level one group of which must hold everything
  Fill fill = Fill::best_fit;
};

struct Fit {
  unsigned level = 0;
  GroupIndex group = 0;
};

struct Share {
  LeafIndex leaf = 0;
  std::uint32_t gpus = 0;
};

class BestFit {
 public:
  explicit BestFit(const Hierarchy& hierarchy);

  // None where no group of max_level holds the request. O(levels) without rungs, and with them O(groups of the levels
  // from the first rung up).
  std::optional<Fit> find(const FitIndex& index, const FitRequest& request, unsigned min_level = 0);

  // For explanations: counts pieces without searching for a group. For the rungs so far, at levels from the first rung
  // up.
  void count_pieces(const FitIndex& index, std::span<const Rung> rungs, unsigned max_level);
  [[nodiscard]] std::uint32_t pieces(unsigned level, GroupIndex group) const { return pieces_[level][group]; }
  // Pieces of the last rung at or below the level that one group of it holds; units where there is none. O(its size).
  [[nodiscard]] std::uint32_t pieces_in(const FitIndex& index, std::span<const Rung> rungs, unsigned level,
                                        GroupIndex group);

  // What each leaf gives, in order of leaves: for what find() answered on the same state. Valid until the next call.
  [[nodiscard]] std::span<const Share> distribute(const FitIndex& index, const FitRequest& request, const Fit& fit);

 private:
  struct Candidate {
    GroupIndex child;
    std::uint32_t units;
    std::uint32_t left_over;
  };
  struct Portion {
    GroupIndex child;
    std::uint32_t amount;
  };

  void count_pieces(const FitIndex& index, std::span<const Rung> rungs, unsigned level, GroupIndex first,
                    GroupIndex end);
  void count_pieces_inside(const FitIndex& index, std::span<const Rung> rungs, const Fit& group);
  [[nodiscard]] std::uint32_t holds(const FitIndex& index, unsigned level, GroupIndex group) const;
  void give(const FitIndex& index, unsigned level, GroupIndex group, std::uint64_t amount);
  void give_straddling(const FitIndex& index, unsigned level, GroupIndex group, std::uint64_t units);
  void give_raw(const FitIndex& index, unsigned level, GroupIndex group, std::uint64_t amount);
  void give_node(const FitIndex& index, GroupIndex host);
  void give_fragments(const FitIndex& index, const Fit& fit, std::uint64_t count);
  // Chooses among candidates_ [from, end) and appends portions, in order of children.
  void choose(std::size_t from, std::uint64_t amount);
  void choose_by_buckets(const FitIndex& index, unsigned level, GroupIndex first, GroupIndex end, std::uint64_t amount);

  const Hierarchy* hierarchy_;
  std::span<const Rung> rungs_;
  std::vector<std::vector<std::uint32_t>> pieces_;
  std::vector<Candidate> candidates_;
  std::vector<Portion> portions_;  // a stack: each call of give() uses the end of it
  std::vector<Share> shares_;
};

}  // namespace railweave::scheduler
