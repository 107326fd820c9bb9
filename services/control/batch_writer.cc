#include "services/control/batch_writer.h"

#include <utility>

namespace railweave::control {

BatchWriter::BatchWriter(Append append, std::function<void()> on_done)
    : append_(std::move(append)),
      on_done_(std::move(on_done)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void BatchWriter::begin(const db::Batch& batch) {
  {
    const std::lock_guard lock(mutex_);
    batch_ = &batch;
    result_.reset();
  }
  changed_.notify_all();
}

bool BatchWriter::is_done() const {
  const std::lock_guard lock(mutex_);
  return result_.has_value();
}

Result<void> BatchWriter::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return result_.has_value(); });
  return *std::exchange(result_, std::nullopt);
}

void BatchWriter::run(const std::stop_token& stop) {
  for (;;) {
    const db::Batch* batch = nullptr;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return batch_ != nullptr; })) return;
      batch = std::exchange(batch_, nullptr);
    }
    auto result = append_(*batch);
    {
      const std::lock_guard lock(mutex_);
      result_ = std::move(result);
    }
    changed_.notify_all();
    on_done_();
  }
}

}  // namespace railweave::control
