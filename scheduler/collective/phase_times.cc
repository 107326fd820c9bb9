#include "scheduler/collective/phase_times.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "fabric/flow/class_shares.h"
#include "fabric/flow/merged_flows.h"

namespace railweave::scheduler {

namespace {

using fabric::FlowRates;
using fabric::GpuId;

// The links that a phase crosses, numbered densely, so that the cost depends on the phase and not on the fabric.
class LocalLinks {
 public:
  explicit LocalLinks(std::size_t links) : local_(links, kNone) {}
  std::uint32_t local(std::uint32_t link) {
    if (local_[link] == kNone) {
      local_[link] = static_cast<std::uint32_t>(links_.size());
      links_.push_back(link);
    }
    return local_[link];
  }

  [[nodiscard]] std::span<const std::uint32_t> links() const { return links_; }
  void clear() {
    for (const std::uint32_t l : links_) local_[l] = kNone;
    links_.clear();
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> local_;  // by link
  std::vector<std::uint32_t> links_;
};

std::unexpected<Error> no_path(std::uint32_t from, std::uint32_t to) {
  const auto name = [](std::uint32_t rank) {
    return rank == RankFlow::kNetwork ? std::string("the network") : fmt::format("rank {}", rank);
  };
  return fail(ErrorKind::impossible, "collectives.noPath", "there is no route from " + name(from) + " to " + name(to));
}

class PhaseClock {
 public:
  PhaseClock(const PathModel& paths, std::span<const GpuId> gpus, const PhaseOptions& options)
      : paths_(paths), gpus_(gpus), options_(options), local_(paths.capacity_mbps().size()) {}

  Result<PhaseTime> time(const Phase& phase) {
    first_.assign(1, 0);
    links_.clear();
    kind_.clear();
    local_.clear();
    double step = 0;
    for (const RankFlow& flow : phase.flows) {
      PathShape shape;
      if (!append(flow, shape)) return no_path(flow.from, flow.to);
      first_.push_back(static_cast<std::uint32_t>(links_.size()));
      kind_.push_back(kind_of(flow.bytes));
      if (!options_.latency_off) step = std::max(step, ring_step_us(shape, options_.protocol, options_.latency));
    }
    for (std::uint32_t& link : links_) link = local_.local(link);
    PhaseTime result{.latency_us = step * phase.steps * phase.repeats, .flows = phase.flows.size()};
    auto merged = fabric::merge_flows(first_, links_, kind_);
    result.merged = merged.members.size();
    std::vector<double> cap(result.merged, std::numeric_limits<double>::infinity());
    add_background(merged, cap);
    std::vector<double> capacity;
    for (const std::uint32_t l : local_.links()) capacity.push_back(paths_.capacity_mbps()[l] * options_.efficiency);
    solve({.capacity = capacity, .first = merged.first, .links = merged.links, .cap = cap, .members = merged.members});
    double slowest = -1;
    for (std::size_t f = 0; f < phase.flows.size(); ++f) {
      const std::uint32_t m = merged.merged_of[f];
      const double bytes = phase.flows[f].bytes, rate = rates_.rate[m];
      if (bytes > 0 && rate <= 0) return no_path(phase.flows[f].from, phase.flows[f].to);
      const double us = std::isinf(rate) ? 0 : transfer_us(bytes, rate);
      if (us <= slowest) continue;
      slowest = us;
      result.rate_mbps = rate;
      const std::uint32_t at = rates_.bottleneck[m];
      result.bottleneck = at < capacity.size() ? local_.links()[at] : at;
    }
    result.transfer_us = std::max(slowest, 0.0) * phase.repeats;
    return result;
  }

 private:
  bool append(const RankFlow& flow, PathShape& shape) {
    if (flow.from != RankFlow::kNetwork && flow.to != RankFlow::kNetwork) {
      return paths_.append(gpus_[flow.from], gpus_[flow.to], links_, shape);
    }
    const bool outward = flow.to == RankFlow::kNetwork;
    // Ranks that share an NVLink domain reduce in its switches.
    PathShape whole;
    std::vector<std::uint32_t> between;
    const bool inside = paths_.append(gpus_.front(), gpus_.back(), between, whole) && !whole.network;
    const double cable_m = inside ? 0 : options_.latency.default_cable_m;
    shape = {.switches = inside ? 0U : 1U, .cable_m = cable_m, .network = !inside};
    return paths_.append_end(gpus_[outward ? flow.from : flow.to], outward, inside, links_);
  }

  void solve(const fabric::FlowProblem& problem) {
    const BackgroundFlows* others = options_.background;
    if (others == nullptr || others->class_weight.empty()) return solver_.solve(problem, rates_);
    RAILWEAVE_CHECK(others->class_of.size() + 1 == others->first.size(), "every flow of others has a class");
    std::vector<std::uint8_t> class_of(problem.flows() - others->class_of.size(), others->own_class);
    class_of.insert(class_of.end(), others->class_of.begin(), others->class_of.end());
    fabric::ClassRates shared;
    class_solver_.solve({.flows = problem,
                         .class_of = class_of,
                         .classes = others->class_weight.size(),
                         .class_weight = others->class_weight},
                        shared);
    rates_ = std::move(shared.flows);
  }

  // Flows of one path are merged only if they carry the same bytes.
  static std::uint32_t kind_of(double bytes) {
    const auto bits = std::bit_cast<std::uint64_t>(bytes);
    return static_cast<std::uint32_t>(bits ^ (bits >> 32U));
  }

  // Links that only the background crosses matter too: the background may be limited by them.
  void add_background(fabric::MergedFlows& merged, std::vector<double>& cap) {
    if (options_.background == nullptr) return;
    const BackgroundFlows& others = *options_.background;
    for (std::size_t f = 0; f + 1 < others.first.size(); ++f) {
      for (std::uint32_t i = others.first[f]; i < others.first[f + 1]; ++i) {
        merged.links.push_back(local_.local(others.links[i]));
      }
      merged.first.push_back(static_cast<std::uint32_t>(merged.links.size()));
      merged.members.push_back(others.members.empty() ? 1 : others.members[f]);
      cap.push_back(others.cap_mbps.empty() ? std::numeric_limits<double>::infinity() : others.cap_mbps[f]);
    }
  }

  const PathModel& paths_;
  std::span<const GpuId> gpus_;
  const PhaseOptions& options_;
  LocalLinks local_;
  fabric::MaxMinSolver solver_;
  fabric::ClassShareSolver class_solver_;
  FlowRates rates_;
  std::vector<std::uint32_t> first_, links_, kind_;
};

}  // namespace

Result<CollectiveTime> collective_time(const PhasePlan& plan, const PathModel& paths,
                                       std::span<const GpuId> gpu_of_rank, const PhaseOptions& options) {
  RAILWEAVE_CHECK(gpu_of_rank.size() >= plan.ranks, "every rank has a GPU");
  CollectiveTime result;
  PhaseClock clock(paths, gpu_of_rank, options);
  for (const Phase& phase : plan.phases) {
    auto time = clock.time(phase);
    if (!time) return std::unexpected(std::move(time.error()));
    result.latency_us += time->latency_us;
    result.transfer_us += time->transfer_us;
    result.phases.push_back(*time);
  }
  result.total_us = result.latency_us + result.transfer_us;
  return result;
}

}  // namespace railweave::scheduler
