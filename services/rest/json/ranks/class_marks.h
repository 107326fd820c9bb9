#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>

#include "fabric/topology/ids.h"

namespace railweave::api {

// What a job's packets are marked with to belong to its traffic class. Without a class they are not marked.
struct ClassMarks {
  unsigned service_level =
      0;  // of the class, or of the job's own lane, on the state's routes; on Ethernet its priority
  unsigned traffic_class = 0;  // the DSCP, shifted
};

// The part of a rank's environment that puts its packets into its tenant's class and partition.
struct RankMarks {
  std::optional<ClassMarks> of_class;  // none: best effort, which unmarked packets have
  // The index of the tenant's partition key on the adapters of a host; 0, or no function: the default partition.
  std::function<std::uint16_t(fabric::HostId)> pkey_index;
  std::uint16_t pkey = 0;                           // that key, without the bit of full membership
  bool on_infiniband = false, on_ethernet = false;  // the job's adapters
  // Levels that routes give to the paths between them, a bit each, to be added to the class's; 0: none, or not known.
  std::uint16_t path_levels = 0;

  // Libraries send all packets of a rank with one level.
  [[nodiscard]] bool are_levels_several() const { return std::popcount(path_levels) > 1; }
  [[nodiscard]] unsigned path_level() const {
    return path_levels == 0 ? 0U : static_cast<unsigned>(std::countr_zero(path_levels));
  }
  [[nodiscard]] std::uint16_t index_on(fabric::HostId host) const { return pkey_index ? pkey_index(host) : 0; }
};

}  // namespace railweave::api
