#include "fabric/capacity/b_matching.h"

#include <algorithm>
#include <limits>

namespace railweave::fabric {
namespace {

class Dinic {
 public:
  explicit Dinic(std::size_t nodes) : first_(nodes, kNone), level_(nodes), at_(nodes) {}

  void add(std::uint32_t from, std::uint32_t to, std::int64_t limit) {
    edges_.push_back({to, first_[from], limit});
    first_[from] = static_cast<std::uint32_t>(edges_.size() - 1);
    edges_.push_back({from, first_[to], 0});
    first_[to] = static_cast<std::uint32_t>(edges_.size() - 1);
  }

  std::int64_t run(std::uint32_t source, std::uint32_t sink) {
    std::int64_t total = 0;
    while (find_levels(source, sink)) {
      at_ = first_;
      // The depth of the recursion is the length of a path in the level graph: short, as residual paths zigzag little.
      while (const std::int64_t pushed = push(source, sink, std::numeric_limits<std::int64_t>::max())) total += pushed;
    }
    return total;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Edge {
    std::uint32_t to, next;
    std::int64_t residual;
  };

  bool find_levels(std::uint32_t source, std::uint32_t sink) {
    std::ranges::fill(level_, kNone);
    level_[source] = 0;
    queue_.assign(1, source);
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      for (std::uint32_t e = first_[queue_[i]]; e != kNone; e = edges_[e].next) {
        if (edges_[e].residual <= 0 || level_[edges_[e].to] != kNone) continue;
        level_[edges_[e].to] = level_[queue_[i]] + 1;
        queue_.push_back(edges_[e].to);
      }
    }
    return level_[sink] != kNone;
  }

  std::int64_t push(std::uint32_t node, std::uint32_t sink, std::int64_t most) {
    if (node == sink) return most;
    for (std::uint32_t& e = at_[node]; e != kNone; e = edges_[e].next) {
      Edge& edge = edges_[e];
      if (edge.residual <= 0 || level_[edge.to] != level_[node] + 1) continue;
      const std::int64_t pushed = push(edge.to, sink, std::min(most, edge.residual));
      if (pushed == 0) continue;
      edge.residual -= pushed;
      edges_[e ^ 1U].residual += pushed;
      return pushed;
    }
    return 0;
  }

  std::vector<Edge> edges_;
  std::vector<std::uint32_t> first_, level_, at_, queue_;
};

}  // namespace

std::int64_t max_b_matching(std::span<const std::int64_t> source_limit, std::span<const std::int64_t> sink_limit,
                            std::span<const std::pair<std::uint32_t, std::uint32_t>> allowed) {
  const auto sources = static_cast<std::uint32_t>(source_limit.size());
  const auto sinks = static_cast<std::uint32_t>(sink_limit.size());
  Dinic flow(sources + sinks + 2U);
  const std::uint32_t from = sources + sinks, to = from + 1;
  for (std::uint32_t s = 0; s < sources; ++s) flow.add(from, s, source_limit[s]);
  for (std::uint32_t d = 0; d < sinks; ++d) flow.add(sources + d, to, sink_limit[d]);
  for (const auto& [s, d] : allowed) flow.add(s, sources + d, std::min(source_limit[s], sink_limit[d]));
  return flow.run(from, to);
}

}  // namespace railweave::fabric
