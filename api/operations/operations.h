// Long work that was answered with 202: its progress and its outcome. Kept in memory: after a restart an operation is
// not found, and whether its work was done shows in the resource itself. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "fabric/base/error.h"

namespace railweave::api {

enum class OperationState : std::uint8_t { running, succeeded, failed };

struct Operation {
  std::string id;    // "op-000007"
  std::string kind;  // "topology.import"
  OperationState state = OperationState::running;
  std::uint64_t done = 0, total = 0;
  std::string unit;         // of done and total
  std::string result_json;  // when succeeded
  std::optional<Error> error;
  std::int64_t started_us = 0, ended_us = 0;
};

class Operations {
 public:
  static constexpr std::size_t kKept = 1000;  // the oldest is forgotten then, once it has ended

  explicit Operations(std::function<std::int64_t()> now_us) : now_us_(std::move(now_us)) {}

  std::string begin(std::string kind);
  void progress(const std::string& id, std::uint64_t done, std::uint64_t total, std::string unit);
  void succeed(const std::string& id, std::string result_json);
  void fail(const std::string& id, Error error);

  [[nodiscard]] std::optional<Operation> find(const std::string& id) const;
  [[nodiscard]] std::vector<Operation> list() const;  // newest first

 private:
  void end(const std::string& id, const std::function<void(Operation&)>& change);

  const std::function<std::int64_t()> now_us_;
  mutable std::mutex mutex_;
  std::map<std::string, Operation> operations_;
  std::deque<std::string> order_;
  std::uint64_t next_ = 1;
};

}  // namespace railweave::api
