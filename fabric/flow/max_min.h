// Weighted max-min fair rates of flows over links: no flow can grow without another shrinking that has no more, per
// unit of weight, than itself (Bertsekas and Gallager, Data Networks, 2nd edition, 6.5.2). The solution is unique.
//
// Progressive filling: the links' fair levels (residual capacity over the weight of flows that are not frozen) only
// rise as flows freeze, so a heap whose levels are brought up to date when they reach the top visits each link a few
// times. O(hops + links log links) in practice. A solver keeps its memory from one call to the next and serves one
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace railweave::fabric {

// A problem; borrows its arrays. Rates and capacities are in one unit of the caller's choice.
struct FlowProblem {
  std::span<const double> capacity;      // by link, at least 0; infinity: never a bottleneck
  std::span<const std::uint32_t> first;  // by flow, and the end: where its links begin
  std::span<const std::uint32_t> links;  // a link that occurs twice in a path is crossed twice
  // By flow, or empty: the default for all.
  std::span<const double> weight = {};          // above 0; default 1
  std::span<const double> cap = {};             // the highest rate of a member; default infinity
  std::span<const std::uint32_t> members = {};  // number of merged flows of this path, weight and cap; default 1

  [[nodiscard]] std::size_t flows() const { return first.empty() ? 0 : first.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> path(std::size_t flow) const {
    return links.subspan(first[flow], first[flow + 1] - first[flow]);
  }
  [[nodiscard]] double weight_of(std::size_t flow) const { return weight.empty() ? 1 : weight[flow]; }
  [[nodiscard]] std::uint32_t members_of(std::size_t flow) const { return members.empty() ? 1 : members[flow]; }
};

struct FlowRates {
  static constexpr std::uint32_t kOwnCap = UINT32_MAX;         // limited by its cap
  static constexpr std::uint32_t kUnbounded = UINT32_MAX - 1;  // crosses no link of finite capacity: infinite rate
  std::vector<double> rate;                                    // by flow, of one member
  std::vector<std::uint32_t> bottleneck;                       // by flow: the link that limits it
  std::vector<double> load;                                    // by link
};

class MaxMinSolver {
 public:
  // Overwrites `rates`, whose memory is used again.
  void solve(const FlowProblem& problem, FlowRates& rates);

 private:
  struct LinkLevel {
    double residual = 0;       // capacity without that of frozen flows
    double weight = 0;         // of the flows that are not frozen
    std::uint32_t active = 0;  // number of crossings by flows that are not frozen: exact, while `weight` is rounded
  };
  struct HeapEntry {
    double level = 0;
    std::uint32_t link = 0;
  };

  void index_links(const FlowProblem& problem);
  void order_caps(const FlowProblem& problem);
  void fill_heap();
  bool refresh_top();  // false: all flows of all links are frozen
  void sift_down(std::size_t at);
  void freeze(const FlowProblem& problem, std::uint32_t flow, double rate, std::uint32_t bottleneck, FlowRates& rates);

  std::vector<LinkLevel> levels_;
  std::vector<std::uint32_t> first_flow_, flow_of_;  // by link: the flows that cross it
  std::vector<HeapEntry> heap_;
  std::vector<std::uint32_t> by_cap_;  // capped flows, by cap over weight
};

FlowRates max_min_rates(const FlowProblem& problem);

}  // namespace railweave::fabric
