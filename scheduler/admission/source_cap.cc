#include "scheduler/admission/source_cap.h"

namespace railweave::scheduler {

SourceCap source_cap(fabric::PortId port, RateMbps guaranteed, RateMbps most, const CapAbilities& abilities) {
  SourceCap cap{.port = port, .guaranteed = guaranteed, .most = most, .means = {}};
  cap.means.push_back({Enforcer::switch_arbitration, Enforcement::hardware,
                       "Switches give the class its share of every link; they do not tell tenants of a class apart."});
  if (abilities.function_rate) {
    cap.means.push_back({Enforcer::function_rate, Enforcement::hardware,
                         "The adapter limits the tenant's function; the tenant cannot change it."});
  }
  if (abilities.host_shaping) {
    cap.means.push_back({Enforcer::host_shaping, Enforcement::host,
                         "The host's kernel limits what passes it; RDMA does not pass it, and root can change it."});
  }
  if (abilities.path_record_rate) {
    cap.means.push_back({Enforcer::path_record_rate, Enforcement::cooperative,
                         "Connections that ask the subnet's administration for a path get its rate; others do not."});
  }
  if (cap.means.size() == 1) {
    cap.means.push_back({Enforcer::function_rate, Enforcement::planned_only,
                         "Nothing sets the limit at this port: a tenant that sends more takes from its class."});
  }
  return cap;
}

}  // namespace railweave::scheduler
