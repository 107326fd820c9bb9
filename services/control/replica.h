// One of several processes on a shared journal: follows what the leader appends, and takes over when there is none. A
// thread of its own, until this process leads; then it is done, for a process that has led never follows again.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "db/shared_journal.h"
#include "fabric/base/log/log.h"
#include "fabric/base/worker/worker.h"
#include "services/control/control_loop.h"

namespace railweave::control {

struct ReplicaOptions {
  std::chrono::milliseconds poll{500};  // how long a notification that was lost may keep a record from being seen
  // The loop leads: it may start, then what acts outside. On the replica's thread. An error ends the process.
  std::function<Result<void>()> on_lead;
  std::function<void(const Error&)> on_failed;  // this process cannot go on; it has to start again
  log::Log log;
};

class Replica {
 public:
  // Both are borrowed; the loop has recovered and was not started.
  Replica(db::SharedJournal& journal, ControlLoop& loop, ReplicaOptions options);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  ~Replica() = default;

  void start();
  void stop() { worker_.stop(); }
  // Instead of start(), on the caller's thread: what is new, and the lead where it is free. True: it is done, for good.
  bool step();

  // False once this process leads, or has led.
  [[nodiscard]] bool follows() const { return follows_; }
  // How long ago what is served was the newest, at most. 0 for one that leads.
  [[nodiscard]] std::chrono::milliseconds staleness() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool take_over();

  db::SharedJournal& journal_;
  ControlLoop& loop_;
  const ReplicaOptions options_;
  std::atomic<bool> follows_{true};
  std::atomic<Clock::rep> fresh_{Clock::now().time_since_epoch().count()};
  std::string last_warning_;  // of the thread
  Worker worker_{"replica"};  // last: uses all of the above
};

}  // namespace railweave::control
