// Which service levels enter a switch from the adapters at its ports: those of the jobs that have the adapter, of open
// classes, and of unmarked packets. The switch drops the rest (VL 15), so that no host gives itself a class or a lane of
// another job, whatever it writes into its packets. Ports towards switches pass all: what came so far was filtered. Pure.
//
// A lane that a job has on a link is closed there to packets from links on which it does not have it: lanes are used again elsewhere
// in the fabric, and the level in a packet says the lane and not the job. So packets of a host stay on links of jobs there, whatever
// the tables of routes say: from those no link of another owner is reached. As routes may change, the lane is also open from links
// that its owner's packets come by on the routes that switches have or get next (lane_passages.h); where ports cannot be written
// before routes change, from all links on which no job has the lane, unless its owner survives link failures: such a job has
// the lane on its links after every failure.
//
// Such packets are dropped, and not put into the lowest class: a switch sees the level of a packet and not the lane that it came
// on, so that at the next one they would be back on the lane.
//
// Only jobs that have a port in common are told apart by their own hosts alone: a switch sees the port.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fabric/topology/ids.h"

namespace railweave::fabric {

class Topology;

// A job at a port of an adapter.
struct IngressUser {
  PortId port;
  std::optional<std::uint8_t> qos_class, lane;  // that it has now; none: no guarantee
  std::uint16_t earlier_levels = 0;             // a bit each: that its ranks may have been started with
  friend auto operator<=>(const IngressUser&, const IngressUser&) = default;
};

// By input port, a bit for each service level that passes; port 0 is the switch itself.
class IngressFilter {
 public:
  static constexpr std::uint16_t kAll = 0xffff;

  IngressFilter() = default;  // everything passes
  explicit IngressFilter(std::vector<std::uint16_t> levels)
      : levels_(std::make_shared<const std::vector<std::uint16_t>>(std::move(levels))) {}

  [[nodiscard]] std::uint16_t from(unsigned in_port) const {
    return levels_ != nullptr && in_port < levels_->size() ? (*levels_)[in_port] : kAll;
  }
  // Less what `closed` has, by input port.
  [[nodiscard]] IngressFilter without(const std::vector<std::uint16_t>& closed) const;
  [[nodiscard]] bool passes(unsigned in_port, unsigned level) const { return (from(in_port) >> level & 1U) != 0; }
  [[nodiscard]] bool is_any() const { return levels_ != nullptr; }
  [[nodiscard]] std::size_t ports() const { return levels_ == nullptr ? 0 : levels_->size(); }
  friend bool operator==(const IngressFilter& a, const IngressFilter& b) {
    return a.levels_ == b.levels_ || (a.is_any() && b.is_any() && *a.levels_ == *b.levels_);
  }

 private:
  std::shared_ptr<const std::vector<std::uint16_t>> levels_;  // shared by all output ports of a switch
};

// levels_of: of each user, ascending by port. open: levels that every host may use.
struct PassingLevels {
  PortId port;
  std::uint16_t levels = 0;
};
IngressFilter ingress_filter(const Topology& topology, SwitchId sw, std::span<const PassingLevels> levels_of,
                             std::uint16_t open);

}  // namespace railweave::fabric
