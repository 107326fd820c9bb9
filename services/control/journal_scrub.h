// Reads the whole journal now and then, beside all else: a start reads only what follows the newest snapshot, so a record that is
// damaged or missing before it would be seen by no one until it is needed. What is found is in the log and an alarm; the alarm is
// cleared by a reading that finds nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "db/journal.h"
#include "fabric/base/log/log.h"
#include "fabric/base/worker/worker.h"
#include "services/control/control_loop.h"

namespace railweave::control {

struct ScrubOptions {
  std::chrono::seconds every = std::chrono::hours(24);  // from the end of one reading to the next
  std::chrono::milliseconds pause{2};                   // between pages, for whoever needs the store
  log::Log log;
};

// Of the process that leads. start() and stop() are called by one thread.
class JournalScrub {
 public:
  JournalScrub(ControlLoop& loop, db::Journal& journal, ScrubOptions options);
  JournalScrub(const JournalScrub&) = delete;
  JournalScrub& operator=(const JournalScrub&) = delete;
  ~JournalScrub();

  void start();
  void stop();

 private:
  struct Found {
    std::uint64_t read = 0, damaged = 0;
    std::vector<std::uint64_t> first;
  };

  // False: it was stopped, or the store could not be read.
  bool read_all(Worker::Turn& turn, Found& found);
  void tell(const Found& found);

  ControlLoop& loop_;
  db::Journal& journal_;
  const ScrubOptions options_;
  Worker worker_{"journal scrub"};  // last: uses all of the above
};

}  // namespace railweave::control
