// What the roles of a gang send each other: caches of keys and values from prefill to decode, weights from a learner to its
// actors. Each role is a job of its own, which keeps who its peers are; where they run is looked up when it matters.
#pragma once

#include <cstdint>
#include <string>

#include "fabric/base/enum_text.h"

namespace railweave::scheduler {

// Which rank sends to which.
enum class RoleSpread : std::uint8_t {
  all_to_all,  // every rank of one role to every rank of the other, as much each
  by_rank,     // rank i to rank i; of the smaller role modulo its number of ranks
};
BOOST_DESCRIBE_ENUM(RoleSpread, all_to_all, by_rank)

struct RolePeer {
  std::uint64_t job = 0;  // number of the job that is, or is part of, the other role
  std::string role;       // its name
  bool sends = true;      // this job sends to it; else it receives from it
  double bytes = 0;       // of a step, between all ranks of both jobs together
  RoleSpread spread = RoleSpread::all_to_all;
  // Of the two jobs the later one: its predictions and its load on links have the traffic, so that it counts once.
  bool counted = true;
  friend bool operator==(const RolePeer&, const RolePeer&) = default;
};

}  // namespace railweave::scheduler
