// The bodies and answers of batches of jobs: POST /v1/jobs/batch and POST /v1/placements/query/batch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/control/events/command.h"
#include "services/json/json_out.h"
#include "services/rest/json/jobs/job_spec.h"

namespace railweave::api {

inline constexpr std::size_t kMaxBatchItems = 1'000;
inline constexpr std::size_t kMaxBatchBytes = 16U << 20U;
inline constexpr std::size_t kMaxKeyBytes = 200;  // of an Idempotency-Key

// Printable ASCII of bounded length.
Result<void> check_idempotency_key(std::string_view key);

struct BatchItem {
  std::string key;             // "": none
  std::string digest;          // of the item without its key
  std::string pointer;         // to it: "/items/3"
  Result<JobRequest> request;  // an item that cannot be read fails alone
  // The error with its place in the whole body.
  [[nodiscard]] Error located(Error error) const {
    if (error.location.starts_with("/")) error.location.insert(0, pointer);
    return error;
  }
};
struct BatchBody {
  std::vector<BatchItem> items;
  bool gang = false;  // all of them or none
  std::vector<control::GangRule> rules;
  std::vector<control::GangTraffic> traffic;
};
// needs_keys: an item without a key cannot be read.
Result<BatchBody> read_batch(std::string_view body, bool needs_keys);
// The list alone, where it is a part of a body. pointer: to it.
Result<std::vector<BatchItem>> read_batch_items(const Json& list, const std::string& pointer, std::size_t max_items,
                                                bool needs_keys);

// {"items": [...], "seq"}: one item for each of the request, in its order.
class BatchAnswer {
 public:
  void add_problem(const std::string& key, int status, const std::string& problem_json);
  void add_job(const std::string& key, int status, const std::string& job_json);
  void add_placement(const std::string& key, const std::string& answer_json);
  [[nodiscard]] std::string finish(std::uint64_t seq) &&;
  [[nodiscard]] std::string items() const { return "[" + items_ + "]"; }

 private:
  void add(const std::string& item_json);
  std::string items_;
};

}  // namespace railweave::api
