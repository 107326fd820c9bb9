// The last percent for small jobs: exchanges blocks of a placement with each other, with free places and between rails, as
// long as that lowers its cost, then from disturbed copies of the best; where the candidates leave something to gain: a
// leaf's or pod's uplinks are the bottleneck, domains of several hosts are used, or hosts in part. A bounded search, the
// same for the same state. One per thread.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fabric/base/draws.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/score/scorer.h"
#include "scheduler/placement/search/job_search.h"

namespace railweave::scheduler {

class Refinement {
 public:
  explicit Refinement(const PlacementFabric& fabric);

  struct Start {
    const JobSpec* spec;
    const PlacementTree* tree;
    const LeafFilter* filter;                      // null: everywhere
    unsigned level;                                // of the group that everything must stay in
    LeafIndex inside;                              // any leaf of it
    std::uint32_t block;                           // consecutive ranks that share a domain
    const NodePreferences* preferences = nullptr;  // null: there are none
  };
  [[nodiscard]] static bool is_small(const JobSpec& spec, std::uint32_t block,
                                     std::span<const fabric::GpuId> gpu_of_rank);
  // It requests nothing that exchanges of blocks could break.
  [[nodiscard]] static bool may_exchange(const JobSpec& spec, std::uint32_t block);
  // Worth trying: the cost on bundles shows that a better one may exist.
  [[nodiscard]] bool promises(const PlacementTree& tree, std::span<const fabric::GpuId> gpu_of_rank,
                              const PlacementCost& cost) const;
  // True where it found a time lower by more than `margin`, or one as low that takes less of shared uplinks; gpu_of_rank and
  // cost are then the better ones.
  bool improve(const Start& start, Scorer& scorer, double margin, std::vector<fabric::GpuId>& gpu_of_rank,
               PlacementCost& cost);

 private:
  // A GPU that the trial has or may take.
  struct Place {
    fabric::GpuId gpu;
    LeafIndex leaf = 0;
    std::uint32_t domain = 0;  // FabricBundles::Place::unit
    std::uint32_t rail = 0;
    bool taken = false;
  };
  [[nodiscard]] bool uses_part_of_a_host(const PlacementTree& tree, std::span<const fabric::GpuId> gpu_of_rank) const;
  void find_places(const Start& start, std::span<const fabric::GpuId> gpu_of_rank);
  void add_places(LeafIndex leaf, std::uint64_t free);
  [[nodiscard]] std::uint32_t domain_of(std::size_t block) const { return places_[at_[block * size_]].domain; }
  [[nodiscard]] GroupIndex group_of(unsigned level, std::size_t block) const;

  void put(std::size_t rank, std::uint32_t place);
  void swap_blocks(std::size_t a, std::size_t b);
  bool move_block(std::size_t block, std::uint32_t domain);
  void move_rank(std::size_t rank, std::uint32_t place);
  // Of its domain, as a run of places_.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> places_near(std::size_t rank) const;
  bool move_block_to(std::size_t block, unsigned level, GroupIndex group);
  bool better(Scorer& scorer);
  void give_up();  // the trial is as the best of this descent again

  bool exchange(Scorer& scorer);
  bool move_one(Scorer& scorer);
  bool move_two(Scorer& scorer);
  bool move_groups(const Start& start, Scorer& scorer);
  bool change_rails(Scorer& scorer);
  bool order_by_rails(Scorer& scorer);
  void descend(const Start& start, Scorer& scorer);
  void disturb();

  const PlacementFabric* fabric_;
  bool domains_span_leaves_ = false;
  bool prefers_nodes_ = false;  // the job
  std::uint32_t size_ = 1;      // of a block
  std::size_t blocks_ = 0;
  std::vector<Place> places_;                                           // in order of domains
  std::vector<std::uint32_t> domains_;                                  // of places_, each once
  std::vector<std::pair<std::uint32_t, std::uint32_t>> run_of_domain_;  // of places_, by number in domains_
  std::vector<std::uint32_t> at_, best_at_;  // place of each rank: of the trial, and of the best of this descent
  std::vector<fabric::GpuId> trial_;
  PlacementCost best_cost_;
  double least_us_ = 0;
  std::uint64_t scores_left_ = 0;  // scores that may still be asked for
  Draws draws_;
};

}  // namespace railweave::scheduler
