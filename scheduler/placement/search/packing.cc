#include "scheduler/placement/search/packing.h"

#include <algorithm>
#include <bit>

#include "fabric/base/check.h"
#include "scheduler/placement/fit/gpu_choice.h"

namespace railweave::scheduler {

void Packing::pack(const PlacementTree& tree, std::span<const Share> shares,
                   std::span<const std::uint64_t> nested_gpus) {
  const auto block = static_cast<std::uint32_t>(nested_gpus.front());
  gpus_.clear();
  leaves_.clear();
  parts_.clear();
  part_leaves_.clear();
  for (const Share& share : shares) take(tree, share, block);
  RAILWEAVE_CHECK(gpus_.size() + parts_.size() == nested_gpus.back(), "shares add up to the job");
  RAILWEAVE_CHECK(parts_.size() % block == 0, "parts of blocks add up to blocks");
  // Parts follow each other within one NVLink domain at a time, and add up to whole blocks in each.
  gpus_.insert(gpus_.end(), parts_.begin(), parts_.end());
  leaves_.insert(leaves_.end(), part_leaves_.begin(), part_leaves_.end());
  if (nested_gpus.size() < 3 && parts_.empty()) return;  // nothing to group: in order of leaves already

  make_blocks(block);
  for (std::size_t i = 1; i < nested_gpus.size(); ++i)
    group(nested_gpus[i] / nested_gpus[i - 1], nested_gpus[i] / block);
  whole_.assign(gpus_.begin(), gpus_.end());
  whole_leaves_.assign(leaves_.begin(), leaves_.end());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    std::copy_n(whole_.begin() + std::ptrdiff_t{order_[i]} * block, block,
                gpus_.begin() + static_cast<std::ptrdiff_t>(i * block));
    std::copy_n(whole_leaves_.begin() + std::ptrdiff_t{order_[i]} * block, block,
                leaves_.begin() + static_cast<std::ptrdiff_t>(i * block));
  }
}

void Packing::take(const PlacementTree& tree, const Share& share, std::uint32_t block) {
  const Hierarchy& hierarchy = tree.hierarchy();
  const std::uint64_t island = hierarchy.gpu_mask(share.leaf);
  std::uint64_t chosen = choose_gpus(island, tree.free_mask(share.leaf), share.gpus);
  const std::uint32_t whole = share.gpus / block;
  for (std::uint32_t i = 0; i < whole; ++i) {
    const std::uint64_t mask = block == 1 ? chosen : choose_gpus(island, chosen, block);
    append(share.leaf, mask);
    chosen &= ~mask;
    if (block == 1) return;
  }
  if (chosen == 0) return;
  const fabric::HostId host = hierarchy.host(share.leaf);
  const auto gpus = fabric_->topology().gpus(host);
  for (const std::uint8_t local : fabric_->gpu_nics().by_rail(host)) {
    if (((chosen >> local) & 1U) == 0) continue;
    parts_.push_back(gpus[local]);
    part_leaves_.push_back(share.leaf);
  }
}

void Packing::append(LeafIndex leaf, std::uint64_t mask) {
  const fabric::HostId host = fabric_->hierarchy().host(leaf);
  const auto gpus = fabric_->topology().gpus(host);
  for (const std::uint8_t local : fabric_->gpu_nics().by_rail(host)) {
    if (((mask >> local) & 1U) == 0) continue;
    gpus_.push_back(gpus[local]);
    leaves_.push_back(leaf);
  }
}

void Packing::make_blocks(std::uint32_t block) {
  pieces_.clear();
  for (std::uint32_t i = 0; i < gpus_.size() / block; ++i) {
    pieces_.push_back({leaves_[std::size_t{i} * block], leaves_[std::size_t{i} * block + block - 1], i});
  }
  // Blocks made of parts were put last.
  std::ranges::stable_sort(pieces_, {}, &Piece::first);
  order_.clear();
  for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
    order_.push_back(pieces_[i].begin);
    pieces_[i].begin = i;
  }
}

// Joins pieces by `factor`: at each level from the leaves up, those that lie in one group and are left over below.
void Packing::group(std::uint64_t factor, std::uint64_t blocks_per_piece) {
  if (factor == 1) return;
  const Hierarchy& hierarchy = fabric_->hierarchy();
  const std::uint64_t blocks_before = blocks_per_piece / factor;
  made_.clear();
  next_order_.clear();
  const auto make = [&] {
    for (std::size_t begin = 0; begin + factor <= run_.size(); begin += factor) {
      Piece made{hierarchy.leaf_count(), 0, static_cast<std::uint32_t>(next_order_.size())};
      for (std::size_t i = begin; i < begin + factor; ++i) {
        const Piece& part = pieces_[run_[i]];
        made.first = std::min(made.first, part.first);
        made.last = std::max(made.last, part.last);
        const auto from = order_.begin() + part.begin;
        next_order_.insert(next_order_.end(), from, from + static_cast<std::ptrdiff_t>(blocks_before));
      }
      made_.push_back(made);
    }
  };

  if (factor == pieces_.size()) {
    run_.resize(pieces_.size());
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) run_[i] = i;
    make();
  } else {
    pending_.resize(pieces_.size());
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) pending_[i] = i;
    for (unsigned level = 0; level < hierarchy.level_count() && !pending_.empty(); ++level) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < pending_.size();) {
        // One group's pending pieces follow each other, among them larger ones that reach beyond it.
        const GroupIndex here = hierarchy.group_of_leaf(level, pieces_[pending_[i]].first);
        const std::size_t kept_before = kept;
        run_.clear();
        for (; i < pending_.size() && hierarchy.group_of_leaf(level, pieces_[pending_[i]].first) == here; ++i) {
          if (hierarchy.group_of_leaf(level, pieces_[pending_[i]].last) == here) {
            run_.push_back(pending_[i]);
          } else {
            pending_[kept++] = pending_[i];
          }
        }
        make();
        for (std::size_t left = run_.size() / factor * factor; left < run_.size(); ++left)
          pending_[kept++] = run_[left];
        std::sort(pending_.begin() + static_cast<std::ptrdiff_t>(kept_before),
                  pending_.begin() + static_cast<std::ptrdiff_t>(kept));
      }
      pending_.resize(kept);
    }
  }
  RAILWEAVE_CHECK(next_order_.size() == order_.size(), "pieces add up at the level that holds the job");
  order_.swap(next_order_);
  // In order of leaves again, so that neighbours in the next larger piece are near.
  std::ranges::sort(
      made_, [](const Piece& a, const Piece& b) { return std::pair(a.first, a.begin) < std::pair(b.first, b.begin); });
  pieces_.swap(made_);
}

}  // namespace railweave::scheduler
