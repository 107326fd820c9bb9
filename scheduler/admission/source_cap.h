// What keeps a tenant's ports to their rates, without which a tenant's minimum is only its class's: classes are shared,
// and a switch tells classes apart, not tenants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/base/units.h"
#include "fabric/topology/ids.h"

namespace railweave::scheduler {

enum class Enforcer : std::uint8_t {
  switch_arbitration,  // VL arbitration or ETS: the class's share, by hardware
  path_record_rate,    // the static rate of connections whose software asked the subnet's administration
  function_rate,       // the adapter's own limit of a virtual function or a queue pair
  host_shaping,        // a queue discipline of the host's kernel
};

enum class Enforcement : std::uint8_t {
  hardware,      // nothing that the tenant runs can exceed it
  host,          // holds while the tenant does not rule the host
  cooperative,   // binds software that asks and keeps to the answer
  planned_only,  // computed and reported, set by nobody yet
};

struct CapMeans {
  Enforcer by = Enforcer::host_shaping;
  Enforcement strength = Enforcement::planned_only;
  std::string statement;  // one plain sentence
};

struct SourceCap {
  fabric::PortId port;
  RateMbps guaranteed;  // in sum over the class, admission keeps this free on every link
  RateMbps most;        // what is to be set at the port
  std::vector<CapMeans> means;
};

// What the site says it sets. Where all are false a cap is planned only, and says so.
struct CapAbilities {
  bool path_record_rate = false;  // OpenSM runs with our qos-policy
  bool function_rate = false;     // the tenant has a virtual function whose rate an operator or agent sets
  bool host_shaping = false;      // an agent on the host writes queue disciplines
};

SourceCap source_cap(fabric::PortId port, RateMbps guaranteed, RateMbps most, const CapAbilities& abilities = {});

}  // namespace railweave::scheduler
