// A progress line on stderr, rewritten in place, shown once the work takes longer than a second and erased by the
// destructor. The caller makes sure that stderr is a terminal. say() may be called from any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "fabric/base/worker/worker.h"

namespace railweave::cli {

class Progress {
 public:
  Progress(std::string what, std::size_t columns);
  ~Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(std::string what);

 private:
  void run(Worker::Turn& turn);
  [[nodiscard]] std::string what();

  const std::size_t columns_;
  std::mutex mutex_;
  std::string what_;           // guarded by mutex_
  Worker worker_{"progress"};  // last: uses all of the above
};

}  // namespace railweave::cli
