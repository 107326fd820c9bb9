// The collectives that jobs use and the algorithms for them.
#pragma once

#include <cstdint>

#include "fabric/base/enum_text.h"

namespace railweave::scheduler {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  reduce,
  point_to_point,
  barrier,
};

enum class CollectiveAlgorithm : std::uint8_t {
  ring,              // chunks travel around the ring; bandwidth-optimal (Patarasuk and Yuan, JPDC 2009)
  tree,              // double binary tree, pipelined (Sanders, Speck and Traeff, Parallel Computing 2009)
  halving_doubling,  // recursive halving, then doubling (Thakur, Rabenseifner and Gropp, IJHPCA 2005)
  hierarchical,      // reduce-scatter inside the NVLink domain, a ring per rail, all-gather inside
  direct,            // every rank to every rank at once
  in_network,        // switches reduce and multicast: SHARP, NVLS
  parameter_server,  // all ranks to the first few and back
};

BOOST_DESCRIBE_ENUM(CollectiveKind, all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, reduce,
                    point_to_point, barrier)
BOOST_DESCRIBE_ENUM(CollectiveAlgorithm, ring, tree, halving_doubling, hierarchical, direct, in_network,
                    parameter_server)

// Bus bandwidth by algorithm bandwidth (size by time), as nccl-tests' PERFORMANCE.md defines it: all-reduce
// 2(n-1)/n; reduce-scatter, all-gather and all-to-all (n-1)/n; the others 1.
double bus_factor(CollectiveKind kind, std::uint64_t ranks);

// Times are microseconds, rates Mb/s, sizes bytes.
constexpr double transfer_us(double bytes, double rate_mbps) { return bytes == 0 ? 0 : bytes * 8 / rate_mbps; }

}  // namespace railweave::scheduler
