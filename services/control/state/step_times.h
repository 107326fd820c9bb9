// How long training steps of jobs took, as the jobs report it, part of ClusterState. Sums by period alone: a report is
// added to them and not kept. Apart from the jobs, whose versions and views do not change with each report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/message.h"
#include "services/control/state/job_blocks.h"

namespace railweave::control {

// What of a job Railweave decides while its steps run.
struct StepControl {
  enum class Placing : std::uint8_t {
    observe,  // nothing: another scheduler put it where it is
    order,    // the order of its ranks
    place,    // its place
  };
  BOOST_DESCRIBE_NESTED_ENUM(Placing, observe, order, place)
  Placing placing = Placing::place;
  bool routed = false;      // all its subnets have Railweave's routes
  bool guaranteed = false;  // its bandwidth
  friend bool operator==(const StepControl&, const StepControl&) = default;
};
constexpr std::string_view to_string(StepControl::Placing placing) { return to_text(placing); }

// Reports between two changes of what they depend on.
struct StepPeriod {
  StepControl control;
  std::optional<double> predicted_us;       // of a step; none: the job does not say what it computes
  std::int64_t since_us = 0, until_us = 0;  // its first and its last report
  std::uint64_t steps = 0;
  double seconds = 0;  // that they took

  [[nodiscard]] std::optional<double> mean_s() const {
    return steps == 0 ? std::nullopt : std::optional(seconds / static_cast<double>(steps));
  }
};

struct StepTimes {
  static constexpr std::size_t kMaxPeriods = 8;  // beyond them the second oldest goes
  static constexpr std::size_t kMaxWorkloadBytes = 253;
  static constexpr std::uint64_t kMaxSteps = 1'000'000'000;  // of one report
  static constexpr double kMaxSeconds = 366.0 * 24 * 3600;   // of one report
  static constexpr std::int64_t kLeastBetweenUs = 10'000'000;
  static constexpr std::int64_t kShareBetween =
      100;  // reports are at least this part of the time since the first apart
  // A window of this many steps is judged: slow from the first factor of the prediction on, until below the second.
  static constexpr std::uint64_t kJudgedSteps = 20;
  static constexpr double kSlow = 1.5, kOnPace = 1.3;

  JobId id;
  std::string workload;             // what jobs are compared by: as it says, else the job's name; "": by nothing
  std::string gpu_model;            // "H100"
  std::vector<StepPeriod> periods;  // oldest first; the last one goes on
  std::int64_t first_us = 0, reported_us = 0;
  std::uint64_t reports = 0;
  std::uint64_t window_steps = 0;  // since it was last judged
  double window_seconds = 0;
  bool slow = false;             // as last judged
  std::optional<double> factor;  // of the prediction, as last judged
  Message on_path;               // where it is slow: what is known of its path
  std::uint64_t version = 0;     // seq of its last report: its ETag

  // The earliest time of the next report: their number grows with the logarithm of a job's run, and so does what the journal
  // keeps of them.
  [[nodiscard]] std::int64_t next_us() const;
};
using StepTimesPtr = std::shared_ptr<const StepTimes>;

using StepTable = JobBlocks<StepTimes>;

}  // namespace railweave::control
