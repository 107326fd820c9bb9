// What the parts of one subnet's controller share. The controller owns it; used by the stepping thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "services/control/live/connection/subnet_connection.h"
#include "services/control/live/connection/subnet_log.h"
#include "services/control/live/links/link_jobs.h"
#include "services/control/live/status/status_board.h"

namespace railweave::control {

struct SubnetContext {
  const SubnetOptions& options;
  const SubnetSurroundings& with;
  StatusBoard& board;
  SubnetConnection& connection;
  LinkJobs& jobs;
  SubnetLog& rounds;
  // Another subnet manager is in charge, or the mode does not allow writing: nothing is written until it does.
  std::function<void(const Error&)> stop_writing;

  [[nodiscard]] SubnetStatus& status() const { return board.status(); }
  [[nodiscard]] SubnetAlarms& alarms() const { return board.alarms(); }
  [[nodiscard]] fabric::FabricDriver& driver() const { return connection.driver(); }
  [[nodiscard]] SubnetMode mode() const { return connection.mode(); }
  [[nodiscard]] bool writes() const { return connection.writes(); }
  // False: an operator has changed the mode since the round began, which therefore ends.
  [[nodiscard]] bool mode_holds() const { return !with.mode_now || with.mode_now() == mode(); }
  // The log of the round under way.
  [[nodiscard]] const log::Log& log() const { return rounds(); }
  [[nodiscard]] std::int64_t now() const { return with.monotonic_us(); }
  [[nodiscard]] std::string name() const { return "subnet " + options.subnet; }

  // An error of a driver that was to write: not being in charge ends writing, anything else the connection.
  [[nodiscard]] Result<void> not_written(const Error& error) const {
    if (error.kind != ErrorKind::conflict) return std::unexpected(error);
    stop_writing(error);
    return {};
  }
};

// What made a repair necessary, and the times of its steps so far.
struct RepairCause {
  std::string text;
  std::int64_t noticed_us = 0, swept_us = 0;  // durations since start_us
  std::int64_t start_us = 0;                  // monotonic: the first report
  std::uint64_t mads = 0;
};

}  // namespace railweave::control
