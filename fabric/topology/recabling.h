// A cable whose ends are in other ports than a topology says. Plain values.
#pragma once

#include "fabric/topology/ids.h"
#include "fabric/topology/link.h"

namespace railweave::fabric {

struct Recabling {
  LinkId link;  // that it takes the place of
  PortId a, b;
  LinkSpec spec;
  friend bool operator==(const Recabling&, const Recabling&) = default;
};

}  // namespace railweave::fabric
