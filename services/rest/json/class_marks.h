#pragma once

namespace railweave::api {

// What NCCL is configured with so that a job's packets belong to its traffic class. Without a class: best effort.
struct ClassMarks {
  unsigned service_level = 0;  // of the class, on the state's routes
  unsigned traffic_class = 0;  // the DSCP, shifted
};

}  // namespace railweave::api
