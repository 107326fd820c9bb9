// Which share of nominal rates real collectives reach, and what they wait for: a model of a few constants per hardware
// generation, the values fitted to published nccl-tests tables, and the fit itself.
//
// An all-reduce of S bytes over k NVLink domains of m ranks takes the least over NCCL's protocols of
//   latency_scale x L(m, k, protocol) + T / efficiency(protocol) + fill
//   L     NCCL's tuning latencies of a tree (latency.h); of Simple inside switches that reduce (NVLS), one step in each
//         direction
//   T     the transfer time of the most loaded link, all stages at once: NCCL pipelines them. NVLink carries
//         (1 + 1/m) S where the switches reduce, else 2(m-1)/m S; the adapters of a domain, of which one collective uses
//         kMaxAdapters at most, 2(n-1)/n S along flat rings and, along double binary trees, what a domain takes that is
//         an inner node of one tree and a leaf of the other: S for two domains, 1.5 S for three, 2 S for more
//   fill  of Simple: a pipeline that fills with chunks that grow with S, fill_us (1 + log2 k) S / (S + fill_half_bytes)
// Over more than two domains that span hosts (NVL72 racks) NCCL falls back to flat rings: L is then that of a ring, whose
// steps grow with the number of ranks, and the pipeline fills once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "scheduler/collective/assumed_algorithm.h"
#include "scheduler/collective/latency.h"

namespace railweave::scheduler {

struct CollectiveConstants {
  double nvls_efficiency = 0.7;  // of NVLink's nominal rate, where switches reduce
  double ring_efficiency = 0.8;  // of NVLink's nominal rate otherwise
  double network_efficiency = 0.9;
  double latency_scale = 1;
  double ll_efficiency = 0.3;  // of what Simple reaches
  double fill_us = 100;
  double fill_half_bytes = 16e6;
  friend bool operator==(const CollectiveConstants&, const CollectiveConstants&) = default;
};

struct GpuGeneration {
  std::string_view name;
  double nvlink_mbps = 0;                                                  // per GPU and direction, nominal
  bool nvls = false;                                                       // NVLink switches reduce
  double peak_bf16_tflops = 0, peak_fp8_tflops = 0, peak_fp32_tflops = 0;  // dense
  double compute_efficiency = 0.45;  // of the peak, while it computes: an assumption, to be replaced by a measurement
  CollectiveConstants constants;
  std::string_view source;  // of the constants
};

// "A100", "H100", "H200", "B200", "GB200", "GB300"; null: not known.
const GpuGeneration* find_generation(std::string_view name);
// The one that a label such as "h100" or "NVIDIA-GB200" names; null: none that is known.
const GpuGeneration* generation_named(std::string_view label);
std::span<const GpuGeneration> generations();
// The oldest whose NVLink is as fast, by rate_per_gpu() of a domain; the nearest rate where none is.
const GpuGeneration& generation_by_nvlink(double nvlink_mbps);

// Of one call. transfer_us: T divided by the efficiency of its link. passes: 2 for an all-reduce, 1 for half of one.
double call_us(const CollectiveConstants& constants, bool nvls, std::uint64_t members, std::uint64_t domains,
               double bytes, double transfer_us, double passes = 2);

// Adapters of one NVLink domain that the channels of one collective use: two NVL72 racks reach 417 GB/s of a gradient
// with adapters of which each carries 45 (README of coreweave/nccl-tests, "2 Racks").
inline constexpr std::uint32_t kMaxAdapters = 9;

// GPUs of a host at most: a domain with more spans hosts.
inline constexpr double kHostGpus = 8;

// How an all-reduce among N ranks over a number of domains is assumed to run.
AssumedAlgorithm all_reduce_algorithm(const CollectiveConstants& constants, bool nvls, double ranks, double domains);

// How often a byte of an all-reduce crosses the adapters of a domain, in each direction.
double network_passes(bool nvls, double ranks, double domains);

// What NVLink carries per byte of an all-reduce, divided by the efficiency of its algorithm: inside one domain; and in a
// domain with `members` of the ranks.
double nvlink_all_reduce_load(const CollectiveConstants& constants, bool nvls, double members);
double nvlink_all_reduce_load(const CollectiveConstants& constants, bool nvls, double members, double ranks,
                              double domains);
// What one adapter of the domain with the fewest members carries per byte, divided by its efficiency: trees or rings; and,
// each way, where the switches of the network reduce (SHARP): all of its members' part goes up once and comes down once.
double network_all_reduce_load(const CollectiveConstants& constants, bool nvls, double least_members, double ranks,
                               double domains);
double in_network_reduction_load(const CollectiveConstants& constants, double members);

struct AllReduceSetting {
  double nvlink_mbps = 0;
  double nic_mbps = 0;  // per GPU
  bool nvls = false;
  std::uint32_t members = 1;  // of a domain
  std::uint32_t domains = 1;
};
double all_reduce_us(const AllReduceSetting& setting, const CollectiveConstants& constants, double bytes);

struct MeasuredTime {
  AllReduceSetting setting;
  double bytes = 0;
  double us = 0;
};

// The constants with the least sum of |log(predicted / measured)|, which is robust to outliers, by a pattern search
// from `start`. Constants that the rows hardly depend on stay near it. Deterministic; milliseconds for tables of this
// size.
CollectiveConstants fit_constants(std::span<const MeasuredTime> rows, const CollectiveConstants& start = {});

// Of 10 measured times 9 are at most this factor above or below what is predicted, on tables that the fit has not seen
// (Calibration.PredictsPublishedTables).
inline constexpr double kIntervalFactor = 1.25;

struct FitError {
  double geometric_mean = 0;  // exp(mean |log(predicted / measured)|) - 1: 0.1 is 10%
  double median = 0;          // of |predicted / measured - 1|
  double worst = 0;
};
FitError fit_error(std::span<const MeasuredTime> rows, const CollectiveConstants& constants);

}  // namespace railweave::scheduler
