// A progress line on stderr, rewritten in place, shown once the work takes longer than a second and erased by the
// destructor. The caller makes sure that stderr is a terminal. say() may be called from any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace railweave::cli {

class Progress {
 public:
  Progress(std::string what, std::size_t columns);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(std::string what);

 private:
  void run();

  const std::size_t columns_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string what_;       // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace railweave::cli
