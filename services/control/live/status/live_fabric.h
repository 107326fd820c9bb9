// The live subnets as REST handlers see them: their published status, and requests to them. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/health/counter_archive.h"
#include "fabric/topology/topology.h"
#include "services/control/live/status/port_progress.h"
#include "services/control/live/status/subnet_status.h"

namespace railweave::control {

// Counters of one port as last read, and their rates. Ports are the accepted topology's.
struct PortCounters {
  std::int64_t read_us = 0;  // unix; 0: never read
  std::uint64_t sent_bytes = 0, received_bytes = 0, sent_packets = 0, received_packets = 0;
  std::uint64_t symbol_errors = 0, link_recoveries = 0, link_downed = 0, receive_errors = 0, discards = 0;
  std::uint64_t wait_ticks = 0;
  // What the last interval between readings makes; none before the second reading.
  std::optional<double> sent_gbps, received_gbps, utilisation, average_utilisation, peak_utilisation;
  using Errors = std::array<float, fabric::kErrorCounters>;  // by ErrorCounter
  std::optional<Errors> errors_per_hour;                     // each error fades within about an hour
};

// What one port counted at a time in the past.
struct PastCounters {
  double load = 0, peak = 0;  // share of the rate that it sent, in the slot of the archive that holds the time
  PortCounters::Errors errors_per_hour{};
};

using ArchivedPorts = std::vector<std::optional<fabric::health::ArchiveRange>>;  // none: of no live subnet

class LiveFabric {
 public:
  LiveFabric() = default;
  LiveFabric(const LiveFabric&) = delete;
  LiveFabric& operator=(const LiveFabric&) = delete;
  virtual ~LiveFabric() = default;

  // Subnets that have a connection configured, by name.
  [[nodiscard]] virtual std::vector<SubnetStatusPtr> subnets() const = 0;
  [[nodiscard]] virtual SubnetStatusPtr subnet(std::string_view name) const = 0;  // null: not configured

  // Which of its ports do not have their tables yet. None: not configured.
  [[nodiscard]] virtual std::optional<PortProgress> port_progress(std::string_view name) const = 0;

  enum class Request : std::uint8_t {
    discover,  // read everything again, links and devices
    sync,      // discover, read all tables back and, where the mode allows it, write what differs
  };
  // Calls back once, with the status after it or the error; on a thread of the fabric's, must not block. At once with
  // "subnets.notLive" where no connection is configured, "subnets.busy" where too many requests wait.
  using Completion = std::function<void(Result<SubnetStatusPtr>)>;
  virtual void ask(std::string_view subnet, Request request, Completion done) = 0;

  // A link that flaps, by its id: what it did is forgotten, so that it is used again at once. No effect where no subnet has it.
  virtual void release(std::string_view subnet, const std::string& link) = 0;

  // None: not read yet, or the port is of no live subnet. Of the accepted topology given.
  [[nodiscard]] virtual std::optional<PortCounters> counters(const fabric::Topology& topology,
                                                             fabric::PortId port) const = 0;
  // None: not read then, or longer ago than the archive reaches.
  [[nodiscard]] virtual std::optional<PastCounters> counters_at(const fabric::Topology& topology, fabric::PortId port,
                                                                std::int64_t at_us) const = 0;
  // Up to now, by position in `ports`. Those of one subnet have the same slots.
  [[nodiscard]] virtual ArchivedPorts archive(const fabric::Topology& topology, std::span<const fabric::PortId> ports,
                                              fabric::health::ArchiveRing ring) const = 0;
};

}  // namespace railweave::control
