// The commands that wait for the control loop. Tenants take turns, so that one that sends many waits for itself alone; what
// operators and the service ask for is one more that takes turns. Not thread-safe: its owner guards it.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace railweave::control {

template <class Waiting>
class CommandQueue {
 public:
  void push(const std::string& tenant, Waiting one) {
    auto& own = of_[tenant];
    if (own.empty()) turns_.push_back(tenant);
    own.push_back(std::move(one));
    ++size_;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t size_of(const std::string& tenant) const {
    const auto at = of_.find(tenant);
    return at == of_.end() ? 0 : at->second.size();
  }
  // Whose turn it is; not of an empty queue.
  [[nodiscard]] const Waiting& front() const { return of_.find(turns_.front())->second.front(); }
  Waiting pop() {
    const auto at = of_.find(turns_.front());
    Waiting one = std::move(at->second.front());
    at->second.pop_front();
    --size_;
    if (!at->second.empty()) turns_.push_back(std::move(turns_.front()));
    turns_.pop_front();
    if (at->second.empty()) of_.erase(at);
    return one;
  }

 private:
  std::map<std::string, std::deque<Waiting>> of_;  // none is empty
  std::deque<std::string> turns_;                  // each of them once
  std::size_t size_ = 0;
};

}  // namespace railweave::control
