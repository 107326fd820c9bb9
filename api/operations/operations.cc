#include "api/operations/operations.h"

#include <cstdio>
#include <utility>
#include <vector>

namespace railweave::api {

std::string Operations::begin(std::string kind) {
  const std::lock_guard lock(mutex_);
  char id[32];
  std::snprintf(id, sizeof id, "op-%06llu", static_cast<unsigned long long>(next_++));
  Operation operation;
  operation.id = id;
  operation.kind = std::move(kind);
  operation.started_us = now_us_();
  operations_.emplace(id, std::move(operation));
  order_.emplace_back(id);
  if (order_.size() > kKept && operations_.at(order_.front()).state != OperationState::running) {
    operations_.erase(order_.front());
    order_.pop_front();
  }
  return id;
}

void Operations::progress(const std::string& id, std::uint64_t done, std::uint64_t total, std::string unit) {
  const std::lock_guard lock(mutex_);
  if (const auto found = operations_.find(id); found != operations_.end()) {
    found->second.done = done;
    found->second.total = total;
    found->second.unit = std::move(unit);
  }
}

void Operations::end(const std::string& id, const std::function<void(Operation&)>& change) {
  const std::lock_guard lock(mutex_);
  if (const auto found = operations_.find(id); found != operations_.end()) {
    change(found->second);
    found->second.ended_us = now_us_();
  }
}

void Operations::succeed(const std::string& id, std::string result_json) {
  end(id, [&](Operation& operation) {
    operation.state = OperationState::succeeded;
    operation.done = operation.total;
    operation.result_json = std::move(result_json);
  });
}

void Operations::fail(const std::string& id, Error error) {
  end(id, [&](Operation& operation) {
    operation.state = OperationState::failed;
    operation.error = std::move(error);
  });
}

std::optional<Operation> Operations::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = operations_.find(id);
  return found == operations_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Operation> Operations::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Operation> all;
  for (auto id = order_.rbegin(); id != order_.rend(); ++id) all.push_back(operations_.at(*id));
  return all;
}

}  // namespace railweave::api
