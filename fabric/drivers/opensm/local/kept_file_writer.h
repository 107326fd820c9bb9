// Writes a kept file in a thread of its own, as a disk may take many seconds for it: who keeps a text never waits for that.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "fabric/base/error.h"
#include "fabric/base/worker/worker.h"

namespace railweave::fabric::opensm {

class KeptFileWriter {
 public:
  // failed: called on the writer's thread.
  KeptFileWriter(std::string path, std::function<void(const Error&)> failed)
      : path_(std::move(path)), failed_(std::move(failed)) {}
  KeptFileWriter(const KeptFileWriter&) = delete;
  KeptFileWriter& operator=(const KeptFileWriter&) = delete;
  ~KeptFileWriter() { worker_.stop(); }  // what was kept last is written

  // The newest of what waits is written. The thread begins with the first call, which is one thread's, as all others are.
  void keep(std::string text);

 private:
  void write();

  const std::string path_;
  const std::function<void(const Error&)> failed_;
  bool started_ = false;
  std::mutex mutex_;
  std::optional<std::string> next_;  // guarded by mutex_
  Worker worker_{"kept-file"};
};

}  // namespace railweave::fabric::opensm
