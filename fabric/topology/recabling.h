// A cable whose ends are in other ports than a topology says, and a device in the place of another. Plain values.
#pragma once

#include <vector>

#include "fabric/base/guid.h"
#include "fabric/topology/ids.h"
#include "fabric/topology/link.h"

namespace railweave::fabric {

struct Recabling {
  LinkId link;  // that it takes the place of
  PortId a, b;
  LinkSpec spec;
  friend bool operator==(const Recabling&, const Recabling&) = default;
};

// A switch or an adapter with other GUIDs, with the name and the cables of the one that it stands in the place of.
struct DeviceExchange {
  struct Port {
    Guid guid;    // of an adapter's
    Lid lid = 0;  // 0: that of the device before
    friend bool operator==(const Port&, const Port&) = default;
  };
  Guid accepted, found;
  std::vector<Port> ports;  // of an adapter by number, from 1; of a switch one, with its own LID
  friend bool operator==(const DeviceExchange&, const DeviceExchange&) = default;
};

}  // namespace railweave::fabric
