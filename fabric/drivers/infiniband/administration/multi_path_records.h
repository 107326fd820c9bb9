// MultiPathRecord: paths from any of some ports to any of some others, answered with PathRecords (IBA 15.2.5.20). Pure.
#pragma once

#include "fabric/drivers/infiniband/administration/requester.h"
#include "fabric/drivers/infiniband/administration/sa_answer.h"

namespace railweave::fabric::infiniband {

// Ports that a request of one datagram can name: both ends together.
inline constexpr unsigned kMaxMultiPathGids = 11;

// answer: with the header that it is to have. As many paths in all as are asked for. Of two ports each and two paths, as for a path and
// another to fall back on: one from the first to the first and one from the second to the second, or crosswise.
SaAnswer answer_multi_paths(const Requester& requester, const Mad& request, SaAnswer answer);

}  // namespace railweave::fabric::infiniband
