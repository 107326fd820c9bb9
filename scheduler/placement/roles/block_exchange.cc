#include "scheduler/placement/roles/block_exchange.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fabric/base/draws.h"
#include "scheduler/collective/role_flows.h"
#include "scheduler/placement/check/placement_check.h"
#include "scheduler/placement/score/summary.h"
#include "scheduler/placement/search/refinement.h"

namespace railweave::scheduler {
namespace {

using fabric::GpuId;

constexpr std::size_t kMaxBlocks = 48;   // of all roles
constexpr unsigned kMaxInVain = 96;      // disturbed copies in a row that lead to nothing better
constexpr std::size_t kMaxTargets = 64;  // domains with room

class BlockExchange {
 public:
  BlockExchange(PlacedRoles& at, const RoleRules& rules, const ExchangeLimits& limits)
      : at_(at), rules_(rules), limits_(limits), fabric_(at.placer().fabric()) {}

  bool run() {
    if (!applies()) return false;
    least_us_ = at_.total_us();
    bool any = descend();
    if (limits_.disturbs && blocks_.size() > 1) any = from_disturbed_copies() || any;
    if (any) {
      for (RolePlace& role : at_.roles()) describe(role);
    }
    return any;
  }

 private:
  struct Block {
    std::size_t role;
    std::size_t first;  // rank
    std::size_t size;
  };

  bool descend() {
    bool any = false;
    for (bool better = true; better && has_work();) {
      better = swap_blocks() || move_blocks();
      any = any || better;
    }
    return any;
  }

  bool from_disturbed_copies() {
    bool any = false;
    std::vector<RolePlace> best = at_.roles();
    double best_us = least_us_;
    for (unsigned in_vain = 0; in_vain < kMaxInVain && has_work(); ++in_vain) {
      disturb();
      if (is_allowed()) {
        least_us_ = at_.total_us();
        descend();
        if (least_us_ < best_us * (1 - limits_.step)) {
          best = at_.roles();
          best_us = least_us_;
          any = true;
          in_vain = 0;
        }
      }
      at_.roles() = best;
    }
    least_us_ = best_us;
    return any;
  }

  void disturb() {
    auto rooms = free_by_unit();
    for (std::uint64_t change = 2 + draws_.below(3); change > 0; --change) {
      const Block& block = blocks_[draws_.below(blocks_.size())];
      const Block& other = blocks_[draws_.below(blocks_.size())];
      const auto one = gpus(block);
      const bool moves = !rooms.empty() && draws_.below(2) == 0;
      if (moves) {
        const auto& [at, free] = rooms[draws_.below(rooms.size())];
        std::vector<GpuId> room = free;
        // Any GPUs of its own domain, too: others of its rails may be better for whom it exchanges with.
        if (at == unit(one.front()) && block.size > 1) room.insert(room.end(), one.begin(), one.end());
        if (room.size() < block.size || model(room.front()) != model(one.front())) continue;
        std::ranges::copy(draws_.below(2) == 0 ? nearest_rails(one, room) : any_of(room, block.size), one.begin());
        if (change > 1) rooms = free_by_unit();
      } else if (&block != &other && block.size == other.size && model(one.front()) == model(gpus(other).front())) {
        std::ranges::swap_ranges(one, gpus(other));
      }
    }
  }

  bool applies() {
    std::size_t ranks = 0;
    for (std::size_t r = 0; r < at_.roles().size(); ++r) {
      const RolePlace& role = at_.roles()[r];
      const std::uint32_t size = std::max(1U, role.placement.block_gpus);
      const std::size_t count = role.placement.gpu_of_rank.size();
      const bool expert_inside = role.spec.parallelism.context > 1 && size > role.spec.parallelism.tensor;
      if (count % size != 0 || expert_inside || role.spec.gpus_per_node || !role.spec.slices.empty()) return false;
      ranks += count;
      for (std::size_t first = 0; first < count; first += size) blocks_.push_back({r, first, size});
    }
    cost_ = ranks + flows() / 4;
    return blocks_.size() <= kMaxBlocks;
  }

  // Between roles, of a score: each is a fraction of what a rank is.
  [[nodiscard]] std::uint64_t flows() const {
    double count = 0;
    for (const RolePlace& role : at_.roles()) {
      const JobTraffic traffic = traffic_of_job(role.spec, at_.placer().peers());
      count += role_flow_count(role.placement.gpu_of_rank.size(), traffic.traffic);
    }
    return static_cast<std::uint64_t>(count);
  }
  [[nodiscard]] std::span<GpuId> gpus(const Block& block) {
    return std::span(at_.roles()[block.role].placement.gpu_of_rank).subspan(block.first, block.size);
  }
  [[nodiscard]] unsigned model(GpuId gpu) const { return fabric_.gpu_models().of(fabric_.leaf(gpu)); }
  [[nodiscard]] std::uint32_t unit(GpuId gpu) const { return fabric_.bundles().place(gpu).unit; }

  [[nodiscard]] bool has_work() const { return *limits_.work_left >= cost_; }
  // Whether the roles may be where they are now, and that is faster.
  bool better() {
    if (!has_work()) return false;
    *limits_.work_left -= cost_;
    const double us = at_.total_us();
    if (!(us < least_us_ * (1 - limits_.step)) || !is_allowed()) return false;
    least_us_ = us;
    return true;
  }
  [[nodiscard]] bool is_allowed() const {
    for (const RolePlace& role : at_.roles()) {
      const auto broken = check_placement({.topology = fabric_.topology(),
                                           .locality = fabric_.locality(),
                                           .spec = role.spec,
                                           .gpu_of_rank = role.placement.gpu_of_rank});
      if (!broken.empty()) return false;
    }
    return !rules_.hold || rules_.hold(at_.roles());
  }

  bool swap_blocks() {
    for (std::size_t a = 0; a < blocks_.size(); ++a) {
      for (std::size_t b = a + 1; b < blocks_.size() && has_work(); ++b) {
        if (blocks_[a].size != blocks_[b].size) continue;
        const auto one = gpus(blocks_[a]), other = gpus(blocks_[b]);
        if (unit(one.front()) == unit(other.front()) && blocks_[a].role == blocks_[b].role) continue;
        if (model(one.front()) != model(other.front())) continue;
        std::ranges::swap_ranges(one, other);
        if (better()) return true;
        std::ranges::swap_ranges(one, other);
      }
    }
    return false;
  }

  bool move_blocks() {
    const auto free = free_by_unit();
    for (const Block& block : blocks_) {
      const std::vector<GpuId> before(gpus(block).begin(), gpus(block).end());
      for (const auto& [at, room] : free) {
        if (!has_work()) return false;
        if (room.size() < block.size || model(room.front()) != model(before.front())) continue;
        if (at == unit(before.front()) && block.size > 1) continue;
        std::ranges::copy(nearest_rails(before, room), gpus(block).begin());
        if (better()) return true;
        std::ranges::copy(before, gpus(block).begin());
      }
    }
    return false;
  }

  // For each GPU of the block one on its rail where there is one.
  [[nodiscard]] std::vector<GpuId> nearest_rails(std::span<const GpuId> block, std::vector<GpuId> room) const {
    std::vector<GpuId> taken;
    for (const GpuId gpu : block) {
      const std::uint32_t rail = fabric_.bundles().place(gpu).rail;
      auto at = std::ranges::find_if(room, [&](GpuId one) { return fabric_.bundles().place(one).rail == rail; });
      if (at == room.end()) at = room.begin();
      taken.push_back(*at);
      room.erase(at);
    }
    return taken;
  }

  std::vector<GpuId> any_of(std::vector<GpuId> room, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) std::swap(room[i], room[i + draws_.below(room.size() - i)]);
    room.resize(count);
    return room;
  }

  // GPUs that no role has, by NVLink domain or host: those with the least room first, as they would be broken anyway.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::vector<GpuId>>> free_by_unit() const {
    const Hierarchy& hierarchy = fabric_.hierarchy();
    const PlacementTree& tree = at_.placer().tree();
    std::map<std::uint32_t, std::vector<GpuId>> rooms;
    std::set<GpuId> held;
    for (const RolePlace& role : at_.roles()) {
      held.insert(role.placement.gpu_of_rank.begin(), role.placement.gpu_of_rank.end());
    }
    for (const LeafIndex leaf : leaves_near(held)) {
      const std::uint64_t mask = tree.free_mask(leaf);
      if (mask == 0) continue;
      const auto of_host = fabric_.topology().gpus(hierarchy.host(leaf));
      for (const std::uint8_t local : fabric_.gpu_nics().by_rail(hierarchy.host(leaf))) {
        const GpuId gpu = of_host[local];
        if ((mask >> local & 1U) == 0 || held.contains(gpu)) continue;
        rooms[unit(gpu)].push_back(gpu);
      }
    }
    std::vector<std::pair<std::uint32_t, std::vector<GpuId>>> list(rooms.begin(), rooms.end());
    std::ranges::stable_sort(list, {}, [](const auto& room) { return room.second.size(); });
    if (list.size() > kMaxTargets) list.resize(kMaxTargets);
    return list;
  }
  // Of the nearest groups with that many leaves around each GPU.
  [[nodiscard]] std::set<LeafIndex> leaves_near(const std::set<GpuId>& held) const {
    constexpr LeafIndex kNear = 64;
    const Hierarchy& hierarchy = fabric_.hierarchy();
    std::set<LeafIndex> near;
    for (const GpuId gpu : held) {
      const LeafIndex own = fabric_.leaf(gpu);
      unsigned level = 0;
      const auto range = [&] {
        const GroupIndex group = hierarchy.group_of_leaf(level, own);
        return std::pair(hierarchy.first_leaf(level, group), hierarchy.first_leaf(level, group + 1));
      };
      while (level < hierarchy.top() && range().second - range().first < kNear) ++level;
      const auto [first, end] = range();
      for (LeafIndex leaf = first; leaf < end && leaf < first + 4 * kNear; ++leaf) near.insert(leaf);
    }
    return near;
  }

  void describe(RolePlace& role) {
    summarize(fabric_, role.spec.parallelism, role.placement);
    role.placement.predicted = at_.placer().predict(role.spec, role.placement.gpu_of_rank);
    role.placement.beside = role.placement.predicted;
  }

  PlacedRoles& at_;
  const RoleRules& rules_;
  const ExchangeLimits& limits_;
  const PlacementFabric& fabric_;
  std::vector<Block> blocks_;
  double least_us_ = 0;
  std::uint64_t cost_ = 0;  // of a score
  Draws draws_;
};

}  // namespace

bool exchange_blocks(PlacedRoles& at, const RoleRules& rules, const ExchangeLimits& limits) {
  return BlockExchange(at, rules, limits).run();
}

}  // namespace railweave::scheduler
