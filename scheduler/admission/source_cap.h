// What limits the rates that a tenant's ports send at. Without limits at the source a guarantee holds for the class
// only: tenants share classes, and a switch distinguishes classes, not tenants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/units.h"
#include "fabric/topology/ids.h"

namespace railweave::scheduler {

enum class Enforcer : std::uint8_t {
  switch_arbitration,  // VL arbitration or ETS: the class's share, by hardware
  path_record_rate,    // the static rate of connections whose software asked the subnet's administration
  function_rate,       // the adapter's own limit of a virtual function or a queue pair
  host_shaping,        // a queue discipline of the host's kernel
};
BOOST_DESCRIBE_ENUM(Enforcer, switch_arbitration, path_record_rate, function_rate, host_shaping)

enum class Enforcement : std::uint8_t {
  hardware,      // nothing that the tenant runs can exceed it
  host,          // holds while the tenant does not administer the host
  cooperative,   // binds software that asks for the rate and respects it
  planned_only,  // computed and reported, but not configured anywhere
};
BOOST_DESCRIBE_ENUM(Enforcement, hardware, host, cooperative, planned_only)
constexpr std::optional<std::string_view> enum_exception(Enforcement strength) {
  return strength == Enforcement::planned_only ? std::optional<std::string_view>("planned") : std::nullopt;
}

struct CapMeans {
  Enforcer by = Enforcer::host_shaping;
  Enforcement strength = Enforcement::planned_only;
  std::string statement;  // one plain sentence
};

struct SourceCap {
  fabric::PortId port;
  RateMbps guaranteed;  // admission reserves this on every link, summed over the class
  RateMbps most;        // the limit to configure at the port; 0: the contract has no maximum
  std::vector<CapMeans> means;
};

// What the operator configures. Where all are false a cap is planned only, and the answer says so.
struct CapAbilities {
  bool path_record_rate = false;  // OpenSM runs with the generated QoS policy
  bool function_rate = false;     // the tenant has a virtual function whose rate an operator or agent sets
  bool host_shaping = false;      // an agent on the host writes queue disciplines
};

SourceCap source_cap(fabric::PortId port, RateMbps guaranteed, RateMbps most, const CapAbilities& abilities = {});

}  // namespace railweave::scheduler
