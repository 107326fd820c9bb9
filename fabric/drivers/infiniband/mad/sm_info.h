// The identity of a subnet manager and whether it is master: SMInfo (IBA 14.2.5.13).
#pragma once

#include "fabric/base/guid.h"
#include "fabric/drivers/infiniband/mad/mad.h"

namespace railweave::fabric::infiniband {

enum class SmState : std::uint8_t { notActive = 0, discovering = 1, standby = 2, master = 3 };

struct SmInfo {
  Guid guid;                    // of the port it runs behind
  std::uint64_t key = 0;        // subnet managers with another key are not trusted
  std::uint32_t act_count = 0;  // grows while it works
  std::uint8_t priority = 0;    // to 15; the highest becomes master
  SmState state = SmState::notActive;
  friend bool operator==(const SmInfo&, const SmInfo&) = default;
};

SmInfo read_sm_info(AttributeBytes data);
void write_sm_info(AttributeSpace data, const SmInfo& info);

// The answer to a Get or Set of SMInfo, along the route of the request.
Mad sm_info_answer(const Mad& question, const SmInfo& info);

}  // namespace railweave::fabric::infiniband
