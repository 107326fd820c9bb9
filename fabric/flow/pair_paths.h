// The links that packets between two end ports cross, whatever decides on them: tables (flow_paths.h) or switches that hash
// flows (hashed_paths.h).
#pragma once

#include <vector>

#include "fabric/flow/directed_link.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric {

struct EndPortPair {
  PortId from;  // end ports: adapters'
  PortId to;
};

class PairPaths {
 public:
  PairPaths() = default;
  PairPaths(const PairPaths&) = default;
  PairPaths& operator=(const PairPaths&) = default;
  PairPaths(PairPaths&&) = default;
  PairPaths& operator=(PairPaths&&) = default;
  virtual ~PairPaths() = default;
  // Appends the links to out; false, and nothing appended, where packets do not arrive.
  virtual bool append(EndPortPair pair, std::vector<DirectedLink>& out) const = 0;
};

}  // namespace railweave::fabric
