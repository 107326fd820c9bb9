// Tells clients behind adapters' ports that there is an administration to ask, and when what it told them is no longer so: by
// PortInfo's ClientReregister (IBA 14.2.5.6), which they answer by asking and joining again. Each port once, once more after the
// service levels of paths have changed, and one that was gone when it is back; the level by which the administration is reached is
// set with it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "fabric/drivers/administration.h"
#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric::infiniband {

class ClientNotices {
 public:
  // Counts ports into the report. Errors: the port failed.
  Result<void> send(MadExchange& exchange, SubnetMap& map, const AdministeredSubnet& subnet,
                    AdministrationReport& report);
  // The port has lost what it was told, as one that starts again.
  void forget(Guid port) { told_.erase(port); }
  void forget_all() { told_.clear(); }

 private:
  struct Told {
    std::uint64_t epoch = 0;
    std::uint8_t level = 0;  // written, whether the port keeps it or not
    friend bool operator==(const Told&, const Told&) = default;
  };
  std::uint64_t epoch_ = 0;                        // another one whenever levels change
  std::vector<std::vector<std::uint8_t>> levels_;  // by plane, as last told
  std::unordered_map<Guid, Told> told_;            // by port GUID
};

}  // namespace railweave::fabric::infiniband
