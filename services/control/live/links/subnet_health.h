// Counters of a subnet's ports, read a few at a time so that a repair never waits for them; their rates, and the alarms
// they raise. Used by the stepping thread, but for what says that it is thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/health/alarm_rules.h"
#include "fabric/health/counter_archive.h"
#include "fabric/health/counter_history.h"
#include "services/control/live/links/subnet_links.h"
#include "services/control/live/status/live_fabric.h"
#include "services/control/state/alarm.h"

namespace railweave::control {

class SubnetHealth {
 public:
  static constexpr std::size_t kSlice = 48;  // ports per poll: some milliseconds

  // before: of the topology that this one replaces, or null; what it archived is kept for the ports that are still there.
  SubnetHealth(const SubnetLinks& links, const fabric::health::ArchiveOptions& archive, const SubnetHealth* before);

  // Reads the next ports of this round; a new round begins every `every_us`. Error: the driver's. True: alarms may have
  // changed.
  Result<bool> poll(fabric::FabricDriver& driver, std::int64_t now_us, std::int64_t unix_us, std::int64_t every_us);

  // By kind: the alarms that stand. jobs: those that use a link.
  [[nodiscard]] std::map<std::string, std::vector<Alarm>> alarms(
      const std::function<std::vector<std::string>(fabric::LinkId)>& jobs) const;

  // Devices that are there and whose counters were not read for at least this long. By device.
  struct Unread {
    Guid device;
    std::string reason;
    std::int64_t for_us = 0;
  };
  [[nodiscard]] std::vector<Unread> unread(std::int64_t now_us, std::int64_t at_least_us) const;

  // See LiveFabric; thread-safe.
  [[nodiscard]] std::optional<PortCounters> counters(const fabric::Topology& topology, fabric::PortId port) const;
  [[nodiscard]] std::optional<PastCounters> counters_at(const fabric::Topology& topology, fabric::PortId port,
                                                        std::int64_t at_us, std::int64_t now_us) const;
  // Puts the ranges of ports that are watched into `ranges`, by position.
  void archive(const fabric::Topology& topology, std::span<const fabric::PortId> ports,
               fabric::health::ArchiveRing ring, std::int64_t now_us, ArchivedPorts& ranges) const;

 private:
  struct Watched {
    fabric::PortRef ref;
    fabric::PortId port;
    fabric::LinkId link;
  };
  void took(const Watched& watched, const fabric::CounterReading& reading, std::int64_t unix_us,
            std::vector<fabric::health::AlarmChange>& changes);

  void archive_reading(std::uint32_t position, const fabric::health::PortRates& rates, std::int64_t unix_us);
  // In ports_; none: not watched, or of another topology.
  [[nodiscard]] std::optional<std::uint32_t> position(const fabric::Topology& topology, fabric::PortId port) const;

  fabric::TopologyPtr topology_;
  std::vector<Watched> ports_;
  static constexpr std::uint32_t kNotWatched = UINT32_MAX;
  std::vector<std::uint32_t> position_of_;  // in ports_, by PortId
  fabric::health::CounterHistory history_;
  fabric::health::AlarmRules rules_;
  std::size_t next_ = 0;
  std::int64_t round_at_us_ = 0;
  // Devices that did not answer are polled with exponential backoff.
  struct Absence {
    std::int64_t until_us = 0, wait_us = 0, since_us = 0;
    std::string reason{};
  };
  std::map<Guid, Absence> absent_;

  mutable std::mutex mutex_;  // guards the rest
  std::map<fabric::PortId, PortCounters> latest_;
  fabric::health::CounterArchive archive_;
};

}  // namespace railweave::control
