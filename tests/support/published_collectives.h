// All-reduce times that were published and that no generation's constants are fitted to, with the machines they were
// measured on. Out of place, in microseconds. Two readings of them are in the model: nine adapters (two racks) and flat rings
// beyond two racks (20 racks).
#pragma once

#include <string_view>
#include <vector>

#include "scheduler/collective/calibration.h"

namespace railweave::scheduler::testing {

struct PublishedTable {
  std::string_view of, where;
  std::string_view generation;
  std::vector<MeasuredTime> rows;
};

inline std::vector<MeasuredTime> rows_from(const AllReduceSetting& setting, double first_bytes,
                                           std::initializer_list<double> us) {
  std::vector<MeasuredTime> rows;
  for (const double time : us) {
    rows.push_back({setting, first_bytes, time});
    first_bytes *= 2;
  }
  return rows;
}

// One time from a bus bandwidth, in GB/s.
inline std::vector<MeasuredTime> row_of(const AllReduceSetting& setting, double bytes, double bus_gb_per_s) {
  const double ranks = static_cast<double>(setting.members) * setting.domains;
  return {{setting, bytes, 2 * (ranks - 1) / ranks * bytes / bus_gb_per_s / 1e3}};
}

inline std::vector<PublishedTable> published_tables() {
  constexpr double kHalfGib = 536870912, kGib = 1073741824, kEightGib = 8589934592, kSixteenGib = 17179869184;
  constexpr std::string_view kCoreweave = "coreweave/nccl-tests, README.md";
  return {
      {"144 GB200 in 2 NVL72 racks", kCoreweave, "GB200",
       rows_from({7'200'000, 400'000, true, 72, 2}, kHalfGib, {2156.8, 3574.4, 6264.0, 11469, 21493, 42067})},
      {"1,440 GB200 in 20 NVL72 racks", kCoreweave, "GB200",
       rows_from({7'200'000, 400'000, true, 72, 20}, kHalfGib, {7108.4, 9805.7, 14980, 24782, 45004, 84625})},
      {"96 H100 on 12 hosts", kCoreweave, "H100",
       rows_from({3'600'000, 400'000, true, 8, 12}, kHalfGib, {2984.6, 5808.0, 11163, 22181, 43980})},
      {"32 H100 on 4 hosts", "github.com/NVIDIA/nccl/issues/1221", "H100",
       row_of({3'600'000, 400'000, true, 8, 4}, kEightGib, 320)},
      {"12 GB200, 4 of each of 3 racks, rings", "github.com/NVIDIA/nccl/issues/1801", "GB200",
       rows_from({7'200'000, 400'000, false, 4, 3}, kSixteenGib, {159983})},
      {"24 GB200, 8 of each of 3 racks, rings", "github.com/NVIDIA/nccl/issues/1801", "GB200",
       rows_from({7'200'000, 400'000, false, 8, 3}, kSixteenGib, {83650})},
      {"16 H100 on 2 hosts", "an OCI walk-through of BM.GPU.H100.8", "H100",
       rows_from({3'600'000, 400'000, true, 8, 2}, kGib, {4511.2, 8825.9, 17437, 34719, 69338})},
  };
}

}  // namespace railweave::scheduler::testing
