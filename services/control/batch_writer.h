// Appends one batch at a time on a thread of its own, while the next is decided. Used by the control thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "db/journal.h"

namespace railweave::control {

class BatchWriter {
 public:
  using Append = std::function<Result<void>(const db::Batch&)>;

  // on_done: called by the thread after each batch; must not block.
  BatchWriter(Append append, std::function<void()> on_done);
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;
  ~BatchWriter() = default;  // waits for a batch under way

  // The batch must outlive its take(), which comes before the next begin().
  void begin(const db::Batch& batch);
  [[nodiscard]] bool is_done() const;
  // Waits for it.
  [[nodiscard]] Result<void> take();

 private:
  void run(const std::stop_token& stop);

  const Append append_;
  const std::function<void()> on_done_;
  mutable std::mutex mutex_;  // guards the next two
  const db::Batch* batch_ = nullptr;
  std::optional<Result<void>> result_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace railweave::control
