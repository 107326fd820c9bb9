// The parts of a fabric among which a job's place is searched: GPUs that it can take together, with the adapters' ports
// that it would send through. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/base/units.h"
#include "fabric/topology/ids.h"

namespace railweave::scheduler {

struct Seat {
  std::uint32_t units = 1;            // pieces of the job that it holds
  std::vector<fabric::PortId> ports;  // ascending, each once
};

// What a job needs of the links between its seats, whatever its ranks send each other (a hose).
struct SeatDemand {
  std::uint64_t units = 0;
  RateMbps rate;         // at each port; or for the whole job, divided over its ports
  bool per_job = false;  // the latter
  std::uint32_t reserved_permille = 1000;
  std::uint8_t qos_class = 0;
  unsigned own_lanes = 0;  // it needs one of this number of lanes for itself on all of its links; 0: none
  // Seats are kept as free of load as if one of the parallel links between switches had failed. Not a condition: what
  // is found so is more likely to survive a failure.
  bool spare_a_link = false;
  std::size_t most_offers = 64;  // seats that are offered and refused for what a hose does not tell
};

// What may still be computed for a search, in ports whose routes are followed.
struct SearchWork {
  std::uint64_t left = 0;
  bool spend(std::uint64_t work) {
    if (work > left) {
      left = 0;
      return false;
    }
    left -= work;
    return true;
  }
};

}  // namespace railweave::scheduler
