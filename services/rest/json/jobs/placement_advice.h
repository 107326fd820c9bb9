// The body and the answer of POST /v1/placements/advice: where a job that runs would have been placed, and what that would
// have gained.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "scheduler/job/job_spec.h"

namespace railweave::api {

struct AdviceRequest {
  scheduler::JobSpec job;
  std::vector<std::string> nodes;  // where it runs; each once, sorted
};

// Refuses unknown fields, and what a what-if of the job refuses.
Result<AdviceRequest> read_advice_request(std::string_view body);

// The error of the job with its place in the whole body.
Error located_in_job(Error error);

// The job as it would have been asked for before it took those nodes: they are not excluded, and among the allowed.
scheduler::JobSpec before_it_ran(const AdviceRequest& request);
// The job where it runs, and nowhere else.
scheduler::JobSpec where_it_runs(const AdviceRequest& request);

struct PlacementAdvice {
  // Share of the predicted time below which a place is taken for no faster: predictions are no better than that.
  static constexpr double kSame = 0.99;
  static constexpr std::size_t kMaxNamedNodes = 16;  // in the text

  bool placed = false;
  std::string code, reason;              // why it would not be placed now
  std::vector<std::string> nodes;        // where it would have been; sorted
  std::optional<double> us, runs_at_us;  // of communication in a step, there and where it runs; none: not predicted
  bool same_nodes = false;

  // Of the communication predicted where it runs; none: not known. At least 0.
  [[nodiscard]] std::optional<std::uint32_t> gain_permille() const;
  // One sentence.
  [[nodiscard]] std::string text() const;
};

std::string write_advice(const PlacementAdvice& advice);

}  // namespace railweave::api
