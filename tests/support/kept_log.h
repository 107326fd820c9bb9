// Keeps lines of a log, for tests that read the story in them. Thread-safe.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/log/log.h"

namespace railweave::log::testing {

class KeptLines final : public Sink {
 public:
  void write(Level level, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::string(to_text(level)) + " " + std::string(text));
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  // Of these lines, those that have the text.
  [[nodiscard]] std::vector<std::string> with(std::string_view text) const {
    auto found = lines();
    std::erase_if(found, [&](const std::string& line) { return !line.contains(text); });
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace railweave::log::testing
