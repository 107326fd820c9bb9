#include "scheduler/placement/search/refinement.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace railweave::scheduler {
namespace {

constexpr std::uint64_t kRanksScored = 16384;  // in all: what a refinement may cost
// Of jobs with one kind of ring, whose even splits are among the candidates, and of others: scores, and copies of the best
// that are tried in a row without one that is better.
constexpr std::uint64_t kMaxScores = 200;
constexpr std::uint64_t kMaxScoresOfMixed = 1000;
constexpr unsigned kMaxInVain = 4;
constexpr unsigned kMaxInVainOfMixed = 24;
constexpr std::size_t kMaxLeaves = 64;
constexpr std::size_t kMaxBlocks = 32;
constexpr double kStep = 1e-6;  // an exchange must gain more than rounding

}  // namespace

Refinement::Refinement(const PlacementFabric& fabric) : fabric_(&fabric) {
  const Hierarchy& hierarchy = fabric.hierarchy();
  for (unsigned level = 1; level < hierarchy.level_count(); ++level) {
    for (GroupIndex group = 0; group < hierarchy.group_count(level); ++group) {
      const bool several = hierarchy.first_leaf(level, group + 1) - hierarchy.first_leaf(level, group) > 1;
      domains_span_leaves_ = domains_span_leaves_ || (several && hierarchy.pooled(level, group));
    }
  }
}

// Where all hosts are used as a whole, rails match and rings are even already.
bool Refinement::uses_part_of_a_host(const PlacementTree& tree, std::span<const fabric::GpuId> gpu_of_rank) const {
  const Hierarchy& hierarchy = tree.hierarchy();
  std::vector<LeafIndex> leaves;
  for (const auto gpu : gpu_of_rank) leaves.push_back(fabric_->leaf(gpu));
  std::ranges::sort(leaves);
  for (std::size_t i = 0; i < leaves.size();) {
    const std::size_t begin = i;
    while (i < leaves.size() && leaves[i] == leaves[begin]) ++i;
    if (i - begin != hierarchy.capacity(0, leaves[begin])) return true;
  }
  return false;
}

bool Refinement::is_small(const JobSpec& spec, std::uint32_t block, std::span<const fabric::GpuId> gpu_of_rank) {
  const std::uint64_t blocks = gpu_of_rank.size() / block;
  // One block may still be elsewhere in its domain, where that has nodes that are preferred.
  const std::uint64_t least = spec.prefer_nodes.empty() ? 2 : 1;
  return blocks >= least && blocks <= kMaxBlocks && gpu_of_rank.size() * 8 <= kRanksScored;
}

bool Refinement::may_exchange(const JobSpec& spec, std::uint32_t block) {
  const auto asked = [](const LevelRequest& request) { return request.required || request.preferred; };
  const bool tensor_in_domain =
      !spec.tensor.preferred && (!spec.tensor.required || *spec.tensor.required == fabric::LevelKind::nvlink_domain);
  if (!tensor_in_domain || asked(spec.context) || asked(spec.expert) || asked(spec.stage) || spec.job.preferred ||
      spec.gpus_per_node || spec.spread_stages || !spec.slices.empty() || spec.spread || spec.exclusive ||
      spec.spares_per_domain > 0) {
    return false;
  }
  // Context and expert groups stay in one site.
  const Parallelism& p = spec.parallelism;
  return !spec.across_sites || block >= std::uint64_t{p.tensor} * p.context * p.expert;
}

bool Refinement::promises(const PlacementTree& tree, std::span<const fabric::GpuId> gpu_of_rank,
                          const PlacementCost& cost) const {
  bool over_domains = false;
  for (const GroupCost& group : cost.groups) {
    if (!group.reachable) return true;
    over_domains = over_domains || group.domains > 1;
    if (group.time_us <= 0 || group.bundle == FabricBundles::kNone) continue;
    if (group.bundle_kind == FabricBundles::Kind::leaf || group.bundle_kind == FabricBundles::Kind::pod ||
        group.bundle_kind == FabricBundles::Kind::wan) {
      return true;
    }
  }
  const bool hosts_are_leaves = fabric_->hierarchy().host_level() == 0;
  return over_domains && (domains_span_leaves_ || !hosts_are_leaves || uses_part_of_a_host(tree, gpu_of_rank));
}

void Refinement::add_places(LeafIndex leaf, std::uint64_t free) {
  const fabric::HostId host = fabric_->hierarchy().host(leaf);
  const auto gpus = fabric_->topology().gpus(host);
  for (const std::uint8_t local : fabric_->gpu_nics().by_rail(host)) {
    if (((free >> local) & 1U) == 0) continue;
    const auto gpu = gpus[local];
    const auto& at = fabric_->bundles().place(gpu);
    places_.push_back({.gpu = gpu, .leaf = leaf, .domain = at.unit, .rail = at.rail});
  }
}

// The job's own GPUs, and of every group of the level above leaves the fullest leaves that can take something, from the
// job's own group on, then around: not all are tried.
void Refinement::find_places(const Start& start, std::span<const fabric::GpuId> gpu_of_rank) {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  places_.clear();
  std::vector<std::pair<LeafIndex, std::uint64_t>> used;  // leaf, mask
  for (const auto gpu : gpu_of_rank) {
    const LeafIndex leaf = fabric_->leaf(gpu);
    auto known = std::ranges::find(used, leaf, &std::pair<LeafIndex, std::uint64_t>::first);
    if (known == used.end()) known = used.insert(used.end(), {leaf, 0});
    known->second |= std::uint64_t{1} << fabric_->topology().local_index(gpu);
  }
  const auto allowed = [&](LeafIndex leaf) { return start.filter == nullptr || (*start.filter)[leaf] != 0; };
  for (const auto& [leaf, mask] : used) add_places(leaf, mask | (allowed(leaf) ? start.tree->free_mask(leaf) : 0));
  const GroupIndex whole = hierarchy.group_of_leaf(start.level, start.inside);
  const LeafIndex first = hierarchy.first_leaf(start.level, whole);
  const LeafIndex end = hierarchy.first_leaf(start.level, whole + 1);
  const unsigned above = std::min(1U, hierarchy.top());
  const LeafIndex begin = hierarchy.first_leaf(above, hierarchy.group_of_leaf(above, used.front().first));
  std::size_t leaves = 0;
  std::vector<std::tuple<double, std::uint32_t, LeafIndex>> fits;  // the preferred ones first, then the fullest
  for (const auto& [from, to] : {std::pair(begin, end), std::pair(first, begin)}) {
    for (LeafIndex leaf = from; leaf < to && leaves < kMaxLeaves;) {
      const LeafIndex next = std::min(to, hierarchy.first_leaf(above, hierarchy.group_of_leaf(above, leaf) + 1));
      fits.clear();
      for (; leaf < next; ++leaf) {
        const bool is_used = std::ranges::find(used, leaf, &std::pair<LeafIndex, std::uint64_t>::first) != used.end();
        if (is_used || !allowed(leaf) || (size_ > 1 && !hierarchy.has_nvlink(leaf))) continue;
        // A block that one leaf does not hold may lie over several of a domain.
        const std::uint32_t free = start.tree->free(0, leaf);
        if (free < (domains_span_leaves_ ? 1 : size_)) continue;
        fits.emplace_back(start.preferences == nullptr ? 0 : start.preferences->unmet(leaf), free, leaf);
      }
      std::ranges::sort(fits);
      const std::size_t most = std::min(fits.size(), std::max<std::size_t>(2, blocks_));
      for (std::size_t i = 0; i < most; ++i) {
        const LeafIndex chosen = std::get<2>(fits[i]);
        add_places(chosen, start.tree->free_mask(chosen));
      }
      leaves += most;
    }
  }
  std::ranges::stable_sort(places_, {}, [](const Place& place) { return std::pair(place.domain, place.leaf); });
  domains_.clear();
  run_of_domain_.clear();
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    if (domains_.empty() || domains_.back() != places_[i].domain) {
      domains_.push_back(places_[i].domain);
      run_of_domain_.emplace_back(i, i);
    }
    run_of_domain_.back().second = i + 1;
  }
}

GroupIndex Refinement::group_of(unsigned level, std::size_t block) const {
  return fabric_->hierarchy().group_of_leaf(level, places_[at_[block * size_]].leaf);
}

void Refinement::put(std::size_t rank, std::uint32_t place) {
  at_[rank] = place;
  places_[place].taken = true;
}

void Refinement::swap_blocks(std::size_t a, std::size_t b) {
  if (a == b) return;
  const auto from = at_.begin() + static_cast<std::ptrdiff_t>(a * size_);
  std::swap_ranges(from, from + size_, at_.begin() + static_cast<std::ptrdiff_t>(b * size_));
}

// Each rank to a free place on the rail that it has, where the domain has one; false, and nothing changed, where too few
// are free.
bool Refinement::move_block(std::size_t block, std::uint32_t domain) {
  const auto [begin, end] = run_of_domain_[domain];
  std::uint32_t free = 0;
  for (std::uint32_t i = begin; i < end; ++i) free += places_[i].taken ? 0 : 1;
  if (free < size_) return false;
  std::vector<std::uint32_t> rails, before;
  for (std::size_t rank = block * size_; rank < (block + 1) * size_; ++rank) {
    rails.push_back(places_[at_[rank]].rail);
    before.push_back(at_[rank]);
  }
  std::vector<std::size_t> pending;
  for (std::size_t i = 0; i < size_; ++i) {
    std::uint32_t found = end;
    for (std::uint32_t place = begin; place < end && found == end; ++place) {
      if (!places_[place].taken && places_[place].rail == rails[i]) found = place;
    }
    if (found == end) {
      pending.push_back(i);
    } else {
      put(block * size_ + i, found);
    }
  }
  std::uint32_t next = begin;
  for (const std::size_t i : pending) {
    while (places_[next].taken) ++next;
    put(block * size_ + i, next);
  }
  for (const std::uint32_t place : before) places_[place].taken = false;
  return true;
}

bool Refinement::move_block_to(std::size_t block, unsigned level, GroupIndex group) {
  for (std::uint32_t domain = 0; domain < domains_.size(); ++domain) {
    const LeafIndex leaf = places_[run_of_domain_[domain].first].leaf;
    if (fabric_->hierarchy().group_of_leaf(level, leaf) == group && move_block(block, domain)) return true;
  }
  return false;
}

void Refinement::give_up() {
  for (const std::uint32_t place : at_) places_[place].taken = false;
  at_ = best_at_;
  for (const std::uint32_t place : at_) places_[place].taken = true;
}

// Keeps the trial where it is better, else goes back to the best.
bool Refinement::better(Scorer& scorer) {
  if (scores_left_ > 0) {
    --scores_left_;
    trial_.clear();
    for (const std::uint32_t place : at_) trial_.push_back(places_[place].gpu);
    const PlacementCost cost = scorer.cost_below(trial_, least_us_ * (1 + kStep / 2));
    // Of equally slow ones the more even: where several bundles are the slowest, each has to be relieved.
    const bool as_fast = cost.total_us <= least_us_ * (1 + kStep / 2);
    if (cost.total_us < least_us_ * (1 - kStep) ||
        (as_fast && cost.unevenness_us < best_cost_.unevenness_us * (1 - kStep))) {
      least_us_ = cost.total_us;
      best_cost_ = cost;
      best_at_ = at_;
      return true;
    }
  }
  give_up();
  return false;
}

bool Refinement::exchange(Scorer& scorer) {
  bool any = false;
  for (std::size_t i = 0; i < blocks_; ++i) {
    for (std::size_t j = i + 1; j < blocks_ && scores_left_ > 0; ++j) {
      if (domain_of(i) == domain_of(j) && size_ > 1) continue;
      swap_blocks(i, j);
      any = better(scorer) || any;
    }
  }
  return any;
}

bool Refinement::move_one(Scorer& scorer) {
  bool any = false;
  for (std::size_t i = 0; i < blocks_; ++i) {
    for (std::uint32_t domain = 0; domain < domains_.size(); ++domain) {
      if (scores_left_ == 0) return any;
      if (domain_of(i) == domains_[domain] || !move_block(i, domain)) continue;
      any = better(scorer) || any;
    }
  }
  return any;
}

// Two blocks at once: both into one domain, where moving only one would not help; then each to any domain.
bool Refinement::move_two(Scorer& scorer) {
  bool any = false;
  for (const bool together : {true, false}) {
    for (std::size_t i = 0; i < blocks_; ++i) {
      for (std::size_t j = i + 1; j < blocks_; ++j) {
        for (std::uint32_t a = 0; a < domains_.size(); ++a) {
          for (std::uint32_t b = 0; b < domains_.size(); ++b) {
            if (scores_left_ == 0) return any;
            if ((a == b) != together || (domain_of(i) == domains_[a] && domain_of(j) == domains_[b])) continue;
            if (move_block(i, a) && move_block(j, b)) {
              any = better(scorer) || any;
            } else {
              give_up();
            }
          }
        }
      }
    }
  }
  return any;
}

// Moves all blocks of one group of a level to another group.
bool Refinement::move_groups(const Start& start, Scorer& scorer) {
  bool any = false;
  for (unsigned level = 0; level < start.level; ++level) {
    std::vector<GroupIndex> targets;
    for (const auto& [first, end] : run_of_domain_) {
      targets.push_back(fabric_->hierarchy().group_of_leaf(level, places_[first].leaf));
    }
    std::ranges::sort(targets);
    const auto same = std::ranges::unique(targets);
    targets.erase(same.begin(), same.end());
    for (std::size_t i = 0; i < blocks_; ++i) {
      const GroupIndex from = group_of(level, i);
      for (const GroupIndex to : targets) {
        if (to == from || scores_left_ == 0) continue;
        if (group_of(level, i) != from) break;  // it has moved already
        bool all_fit = true;
        for (std::size_t b = 0; b < blocks_ && all_fit; ++b) {
          if (group_of(level, b) == from) all_fit = move_block_to(b, level, to);
        }
        if (all_fit) {
          any = better(scorer) || any;
        } else {
          give_up();
        }
      }
    }
  }
  return any;
}

std::pair<std::uint32_t, std::uint32_t> Refinement::places_near(std::size_t rank) const {
  const auto known = std::ranges::lower_bound(domains_, places_[at_[rank]].domain);
  return run_of_domain_[static_cast<std::size_t>(known - domains_.begin())];
}

// To another place of its domain, in exchange where a rank has it.
void Refinement::move_rank(std::size_t rank, std::uint32_t place) {
  if (places_[place].taken) {
    std::swap(at_[rank], *std::ranges::find(at_, place));
  } else {
    places_[at_[rank]].taken = false;
    put(rank, place);
  }
}

// Ranks to other GPUs of their domains, free ones and those of other ranks.
bool Refinement::change_rails(Scorer& scorer) {
  bool any = false;
  for (std::size_t rank = 0; rank < at_.size(); ++rank) {
    const auto [begin, end] = places_near(rank);
    for (std::uint32_t place = begin; place < end; ++place) {
      if (scores_left_ == 0) return any;
      const Place &own = places_[at_[rank]], &other = places_[place];
      if (own.rail == other.rail && (own.leaf == other.leaf || !prefers_nodes_)) continue;
      move_rank(rank, place);
      any = better(scorer) || any;
    }
  }
  return any;
}

// Near ranks on one rail of several hosts, where domains are too small for any group.
bool Refinement::order_by_rails(Scorer& scorer) {
  std::ranges::stable_sort(at_, {}, [&](std::uint32_t place) { return std::pair(places_[place].rail, place); });
  return better(scorer);
}

void Refinement::disturb() {
  // Near and far in turn: a small change is undone, a large one forgets what was good.
  const std::uint64_t changes = 2 + draws_.below(draws_.below(2) == 0 ? 2 : blocks_);
  for (std::uint64_t change = 0; change < changes; ++change) {
    const std::size_t block = draws_.below(blocks_);
    const std::uint64_t kind = draws_.below(5);
    if (kind < 2) {
      swap_blocks(block, draws_.below(blocks_));
    } else if (kind < 4) {
      (void)move_block(block, static_cast<std::uint32_t>(draws_.below(domains_.size())));
    } else {
      const std::size_t rank = block * size_ + draws_.below(size_);
      const auto [begin, end] = places_near(rank);
      move_rank(rank, begin + static_cast<std::uint32_t>(draws_.below(end - begin)));
    }
  }
}

void Refinement::descend(const Start& start, Scorer& scorer) {
  bool again = true;
  while (again && scores_left_ > 0) {
    again = change_rails(scorer);  // first: a disturbed copy would else go straight back
    again = move_groups(start, scorer) || again;
    again = move_one(scorer) || again;
    again = exchange(scorer) || again;
  }
}

bool Refinement::improve(const Start& start, Scorer& scorer, double margin, std::vector<fabric::GpuId>& gpu_of_rank,
                         PlacementCost& cost) {
  size_ = start.block;
  prefers_nodes_ = start.preferences != nullptr;
  blocks_ = gpu_of_rank.size() / size_;
  const Parallelism& p = start.spec->parallelism;
  // Several kinds of rings pull apart, as do several domains of a host.
  const bool mixed = p.pipeline > 1 || p.context > 1 || p.expert > 1 || fabric_->hierarchy().host_level() != 0;
  scores_left_ = std::min(mixed ? kMaxScoresOfMixed : kMaxScores, kRanksScored / gpu_of_rank.size());
  draws_ = Draws(gpu_of_rank.size());
  find_places(start, gpu_of_rank);
  at_.clear();
  for (const auto gpu : gpu_of_rank) {
    const auto at = std::ranges::find(places_, gpu, &Place::gpu);
    at_.push_back(static_cast<std::uint32_t>(at - places_.begin()));
    at->taken = true;
  }
  best_at_ = at_;
  best_cost_ = cost;
  least_us_ = cost.total_us;
  if (size_ == 1) (void)order_by_rails(scorer);
  descend(start, scorer);
  if (scores_left_ > 0 && move_two(scorer)) descend(start, scorer);
  const unsigned most = mixed ? kMaxInVainOfMixed : kMaxInVain;
  for (unsigned in_vain = 0; in_vain < most && scores_left_ > 0; ++in_vain) {
    // Downwards from a disturbed copy; what it leads to is kept only where it is better than the best.
    const std::vector<std::uint32_t> kept = best_at_;
    const PlacementCost kept_cost = best_cost_;
    disturb();
    --scores_left_;
    trial_.clear();
    for (const std::uint32_t place : at_) trial_.push_back(places_[place].gpu);
    best_cost_ = scorer.cost_below(trial_, std::numeric_limits<double>::infinity());
    least_us_ = best_cost_.total_us;
    best_at_ = at_;
    descend(start, scorer);
    if (least_us_ < kept_cost.total_us * (1 - kStep)) {
      in_vain = 0;
      continue;
    }
    best_cost_ = kept_cost;
    least_us_ = kept_cost.total_us;
    best_at_ = kept;
    give_up();
  }
  // As fast with less of the uplinks is better, too: ranks of several hosts on the same rails.
  const bool faster = best_cost_.total_us < cost.total_us * (1 - margin);
  const bool leaves_more = best_cost_.total_us <= cost.total_us * (1 + kStep) &&
                           best_cost_.uplink_gpu_us < cost.uplink_gpu_us * (1 - margin);
  if (!faster && !leaves_more) return false;
  for (std::size_t rank = 0; rank < gpu_of_rank.size(); ++rank) gpu_of_rank[rank] = places_[best_at_[rank]].gpu;
  cost = best_cost_;
  return true;
}

}  // namespace railweave::scheduler
