#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "fabric/topology/ids.h"

namespace railweave::api {

// What NCCL is configured with so that a job's packets belong to its traffic class. Without a class: best effort.
struct ClassMarks {
  unsigned service_level = 0;  // of the class, or of the job's own lane, on the state's routes
  unsigned traffic_class = 0;  // the DSCP, shifted
};

// The part of a rank's environment that puts its packets into its tenant's class and partition.
struct RankMarks {
  std::optional<ClassMarks> of_class;  // none: best effort, which unmarked packets have
  // NCCL_IB_PKEY: the index of the tenant's partition key on the adapters of a host; 0, or no function: the default
  // partition.
  std::function<std::uint16_t(fabric::HostId)> pkey_index;

  [[nodiscard]] std::uint16_t index_on(fabric::HostId host) const { return pkey_index ? pkey_index(host) : 0; }
};

}  // namespace railweave::api
