#include "scheduler/collective/calibration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "scheduler/collective/collective.h"

namespace railweave::scheduler {

namespace {

constexpr double kLl128Efficiency = 120.0 / 128.0;  // 8 of every 128 bytes are flags

// Where NCCL builds no trees of switches that reduce: over several domains that span hosts, beyond two. Read off the
// published tables of 1, 2 and 20 NVL72 racks, whose time without bytes grows with the ranks on 20 alone.
bool is_flat_ring(bool nvls, double ranks, double domains) {
  constexpr double kMaxOfTrees = 2;
  return nvls && domains > kMaxOfTrees && ranks > kHostGpus * domains;
}

double latency_us(Protocol protocol, bool nvls, std::uint64_t members, std::uint64_t domains) {
  if (is_flat_ring(nvls, static_cast<double>(members * domains), static_cast<double>(domains))) {
    return ring_all_reduce_latency_us(members, domains, protocol);
  }
  if (protocol != Protocol::simple || !nvls) return tree_all_reduce_latency_us(members, domains, protocol);
  const LatencyConstants nccl;
  const std::size_t p = index_of(protocol);
  return nccl.tree_base_us[p] +
         2 * (nccl.tree_nvlink_us[p] + std::log2(static_cast<double>(domains)) * nccl.tree_network_us[p]);
}

}  // namespace

double call_us(const CollectiveConstants& constants, bool nvls, std::uint64_t members, std::uint64_t domains,
               double bytes, double transfer_us, double passes) {
  const double half = passes / 2;
  const auto latency = [&](Protocol protocol) {
    return half * constants.latency_scale * latency_us(protocol, nvls, members, domains);
  };
  const bool ring = is_flat_ring(nvls, static_cast<double>(members * domains), static_cast<double>(domains));
  const double levels = ring ? 1 : 1 + std::log2(static_cast<double>(domains));
  const double fill = half * constants.fill_us * levels * bytes / (bytes + constants.fill_half_bytes);
  return std::min({latency(Protocol::ll) + transfer_us / constants.ll_efficiency,
                   latency(Protocol::ll128) + transfer_us / kLl128Efficiency + fill,
                   latency(Protocol::simple) + transfer_us + fill});
}

double nvlink_all_reduce_load(const CollectiveConstants& constants, bool nvls, double members) {
  if (members < 2) return 0;
  const double ring = 2 * (members - 1) / members / constants.ring_efficiency;
  const double reduced = (1 + 1 / members) / constants.nvls_efficiency;
  return nvls && members > 2 ? std::min(ring, reduced) : ring;
}

double nvlink_all_reduce_load(const CollectiveConstants& constants, bool nvls, double members, double ranks,
                              double domains) {
  if (!is_flat_ring(nvls, ranks, domains)) return nvlink_all_reduce_load(constants, nvls, members);
  return members < 2 ? 0 : 2 * (ranks - 1) / ranks / constants.ring_efficiency;
}

AssumedAlgorithm all_reduce_algorithm(const CollectiveConstants& constants, bool nvls, double ranks, double domains) {
  if (ranks < 2) return AssumedAlgorithm::none;
  if (domains >= 2) {
    return nvls && !is_flat_ring(nvls, ranks, domains) ? AssumedAlgorithm::nvls_tree : AssumedAlgorithm::ring;
  }
  const bool switches =
      nvlink_all_reduce_load(constants, nvls, ranks) < nvlink_all_reduce_load(constants, false, ranks);
  return switches ? AssumedAlgorithm::nvls : AssumedAlgorithm::ring;
}

double network_passes(bool nvls, double ranks, double domains) {
  if (domains < 2) return 0;
  if (!nvls || is_flat_ring(nvls, ranks, domains)) return 2 * (ranks - 1) / ranks;
  // Of a double binary tree with half the bytes in each: from two children and to them, and to and from a parent twice.
  constexpr double kTwo = 1, kThree = 1.5, kMore = 2;
  return domains < 3 ? kTwo : domains < 4 ? kThree : kMore;
}

double network_all_reduce_load(const CollectiveConstants& constants, bool nvls, double least_members, double ranks,
                               double domains) {
  const double adapters = std::min<double>(least_members, kMaxAdapters);
  return network_passes(nvls, ranks, domains) / adapters / constants.network_efficiency;
}

double in_network_reduction_load(const CollectiveConstants& constants, double members) {
  return 1 / members / constants.network_efficiency;
}

double all_reduce_us(const AllReduceSetting& setting, const CollectiveConstants& constants, double bytes) {
  const double ranks = static_cast<double>(setting.members) * setting.domains;
  const double inside = nvlink_all_reduce_load(constants, setting.nvls, setting.members, ranks, setting.domains);
  const double outside = network_all_reduce_load(constants, setting.nvls, setting.members, ranks, setting.domains);
  const double transfer =
      std::max(transfer_us(bytes * inside, setting.nvlink_mbps), transfer_us(bytes * outside, setting.nic_mbps));
  return call_us(constants, setting.nvls, setting.members, setting.domains, bytes, transfer);
}

namespace {

constexpr std::array kFitted{&CollectiveConstants::nvls_efficiency,    &CollectiveConstants::ring_efficiency,
                             &CollectiveConstants::network_efficiency, &CollectiveConstants::latency_scale,
                             &CollectiveConstants::ll_efficiency,      &CollectiveConstants::fill_us,
                             &CollectiveConstants::fill_half_bytes};

// Keeps constants that the rows hardly depend on near their start.
constexpr double kPull = 0.02;
double pull(const CollectiveConstants& c, const CollectiveConstants& start) {
  double sum = 0;
  for (const auto constant : kFitted) {
    const double away = std::log(c.*constant / start.*constant);
    sum += kPull * away * away;
  }
  return sum;
}

double log_error(std::span<const MeasuredTime> rows, const CollectiveConstants& constants) {
  double sum = 0;
  for (const MeasuredTime& row : rows) {
    sum += std::abs(std::log(all_reduce_us(row.setting, constants, row.bytes) / row.us));
  }
  return sum;
}

bool sensible(const CollectiveConstants& c) {
  const auto part = [](double x) { return x > 0.01 && x <= 1; };
  return part(c.nvls_efficiency) && part(c.ring_efficiency) && part(c.network_efficiency) && part(c.ll_efficiency);
}

}  // namespace

CollectiveConstants fit_constants(std::span<const MeasuredTime> rows, const CollectiveConstants& start) {
  CollectiveConstants best = start;
  double least = log_error(rows, best);  // including the pull towards the start
  // Along one constant, then along two at once: their valleys are oblique.
  constexpr int kHalvings = 8;
  for (int halving = 1; halving <= kHalvings; ++halving) {
    const double step = std::ldexp(1.0, -halving);
    for (bool moved = true; moved;) {
      moved = false;
      const auto try_change = [&](std::size_t a, double by_a, std::size_t b, double by_b) {
        CollectiveConstants next = best;
        next.*kFitted[a] *= std::exp(by_a);
        if (a != b) next.*kFitted[b] *= std::exp(by_b);
        if (!sensible(next)) return;
        const double error = log_error(rows, next) + pull(next, start);
        if (error < least - 1e-9) {
          best = next;
          least = error;
          moved = true;
        }
      };
      for (std::size_t a = 0; a < kFitted.size(); ++a) {
        for (std::size_t b = a; b < kFitted.size(); ++b) {
          for (const double by_a : {-step, step}) {
            for (const double by_b : {-step, step}) try_change(a, by_a, b, by_b);
          }
        }
      }
    }
  }
  return best;
}

FitError fit_error(std::span<const MeasuredTime> rows, const CollectiveConstants& constants) {
  if (rows.empty()) return {};
  FitError error;
  std::vector<double> off;
  for (const MeasuredTime& row : rows) {
    off.push_back(std::abs(all_reduce_us(row.setting, constants, row.bytes) / row.us - 1));
  }
  error.geometric_mean = std::exp(log_error(rows, constants) / static_cast<double>(rows.size())) - 1;
  std::ranges::sort(off);
  error.median = off[off.size() / 2];
  error.worst = off.back();
  return error;
}

}  // namespace railweave::scheduler
