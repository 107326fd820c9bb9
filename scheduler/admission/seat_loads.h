// What a set of seats would put on links beside what is reserved there. More seats never put less on any link.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/ledger.h"
#include "scheduler/admission/seat.h"

namespace railweave::scheduler {

struct SeatExcess {
  std::int64_t mbps = 0;      // above what links have left, in sum
  std::uint64_t no_lane = 0;  // links on which the lane that is free on most is taken
  bool cut_off = false;       // some ports cannot reach each other
  [[nodiscard]] bool fits() const { return mbps == 0 && no_lane == 0 && !cut_off; }
};

class SeatLoads {
 public:
  // Borrows the ledger and the loads, which are of one view.
  SeatLoads(const fabric::Ledger& ledger, fabric::HoseLoads& loads, SeatDemand demand)
      : ledger_(ledger), loads_(loads), demand_(demand) {}

  // Of a job on these ports; ports_in_all: of the whole job, of which these may be a part.
  [[nodiscard]] SeatExcess excess(std::span<const fabric::PortId> ports, std::size_t ports_in_all, bool spare_a_link);
  // What one port of a job of this number of ports is promised.
  [[nodiscard]] std::int64_t rate_mbps(std::size_t ports_in_all) const;
  // ... and reserved for it on its cable.
  [[nodiscard]] std::int64_t reserved_mbps(std::size_t ports_in_all) const;
  // Left of a link for the job's class.
  [[nodiscard]] std::int64_t left_mbps(fabric::DirectedLink link) const;
  [[nodiscard]] const fabric::FabricView& view() const { return loads_.view(); }
  [[nodiscard]] const fabric::ForwardingTables& tables() const { return loads_.tables(); }
  [[nodiscard]] const SeatDemand& demand() const { return demand_; }
  [[nodiscard]] const fabric::Ledger& ledger() const { return ledger_; }

 private:
  [[nodiscard]] std::int64_t left_with_a_link_spared(fabric::DirectedLink link);

  const fabric::Ledger& ledger_;
  fabric::HoseLoads& loads_;
  const SeatDemand demand_;
  std::vector<fabric::HosePort> ports_;  // scratch
  std::vector<std::uint32_t>
      up_of_switch_;  // links to other switches that are alive, by switch; made when first needed
};

}  // namespace railweave::scheduler
