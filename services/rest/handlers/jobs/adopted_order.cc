#include "services/rest/handlers/jobs/adopted_order.h"

#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

#include "services/rest/handlers/worker_placers.h"

namespace railweave::api {
namespace {

// A search takes up to a fraction of a second. The newest are kept.
class KnownOrders {
 public:
  struct Basis {
    const ControlPlane* plane;
    control::JobId job;
    std::uint64_t version, view_version;
    friend bool operator==(const Basis&, const Basis&) = default;
  };

  std::optional<scheduler::RankOrder> find(const Basis& basis) {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, order] : kept_) {
      if (known == basis) return order;
    }
    return std::nullopt;
  }
  void keep(const Basis& basis, const scheduler::RankOrder& order) {
    constexpr std::size_t kMost = 64;
    const std::lock_guard lock(mutex_);
    kept_.emplace_front(basis, order);
    if (kept_.size() > kMost) kept_.pop_back();
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<Basis, scheduler::RankOrder>> kept_;
};

KnownOrders& known_orders() {
  static KnownOrders orders;
  return orders;
}

}  // namespace

std::optional<scheduler::RankOrder> adopted_order(const ControlPlane& plane, const control::ClusterState& state,
                                                  const control::Job& job) {
  const KnownOrders::Basis basis{&plane, job.id, job.version, state.view_version};
  if (auto known = known_orders().find(basis)) return known;
  auto& placer = worker_placers(plane).at(state);
  auto order = scheduler::rank_order(placer, state.allocations, job.spec, job.placement.gpu_of_rank);
  known_orders().keep(basis, order);
  return order;
}

}  // namespace railweave::api
