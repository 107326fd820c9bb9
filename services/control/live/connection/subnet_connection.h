// The connection to one subnet in one mode: opened when it is due, retried with exponential backoff. Used by the
// stepping thread.
#pragma once

#include <cstdint>
#include <memory>

#include "fabric/base/backoff.h"
#include "services/control/live/connection/subnet_options.h"

namespace railweave::control {

class SubnetConnection {
 public:
  enum class Phase : std::uint8_t {
    offline,  // open() when is_due()
    opened,   // nothing read over this connection yet, or everything is to be read again
    read,     // what is there was read and is followed
  };

  SubnetConnection(const SubnetOptions& options, const SubnetSurroundings& with)
      : with_(with), backoff_(options.retry_first, options.retry_most) {}

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool is_open() const { return phase_ != Phase::offline; }
  [[nodiscard]] SubnetMode mode() const { return mode_; }
  [[nodiscard]] bool writes() const { return mode_ != SubnetMode::observe; }
  [[nodiscard]] fabric::FabricDriver& driver() const { return *driver_; }  // while it is open

  // Closes it where the mode is another one, to be opened again at once. True: it was another one.
  bool set_mode(SubnetMode mode);
  [[nodiscard]] bool is_due() const { return with_.monotonic_us() >= retry_at_us_; }
  Result<void> open();
  // It failed, when it was opened or later.
  void close();
  void set_read() { phase_ = Phase::read; }
  void read_again() { phase_ = Phase::opened; }

 private:
  const SubnetSurroundings& with_;
  Phase phase_ = Phase::offline;
  SubnetMode mode_ = SubnetMode::observe;
  std::unique_ptr<fabric::FabricDriver> driver_;
  std::int64_t retry_at_us_ = 0;
  Backoff backoff_;
};

}  // namespace railweave::control
