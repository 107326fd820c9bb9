#include "fabric/drivers/linux_tc/mark_filter.h"

#include <algorithm>
#include <set>

#include "fabric/drivers/linux_tc/interface_name.h"

namespace railweave::fabric::linux_tc {

Result<std::string> mark_filter(std::string_view interface, const std::vector<std::uint8_t>& filtered,
                                const std::vector<AdmittedDscp>& admitted) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid, "tc.invalid", std::move(message)); };
  if (!is_interface_name(interface)) return refuse("'" + std::string(interface) + "' is no name of an interface");
  std::string all;
  std::set<unsigned> known, seen;
  for (const std::uint8_t dscp : filtered) {
    if (dscp == 0 || dscp > 63 || !known.insert(dscp).second) return refuse("DSCPs to filter are 1 to 63, each once");
    all += (all.empty() ? "" : ", ") + std::to_string(dscp);
  }
  std::string rules;
  for (const AdmittedDscp& one : admitted) {
    if (!known.contains(one.dscp) || !seen.insert(one.dscp).second) {
      return refuse("DSCP " + std::to_string(one.dscp) + " is admitted twice, or is none of those to filter");
    }
    std::string to;
    for (const std::string& address : one.destinations) {
      if (!is_ipv4_address(address)) return refuse("'" + address + "' is no IPv4 address");
      to += (to.empty() ? "" : ", ") + address;
    }
    if (to.empty()) continue;
    rules += "    ip dscp " + std::to_string(one.dscp) + " ip daddr { " + to + " } accept\n";
  }
  const std::string table = "netdev railweave_" + std::string(interface);
  // A table is made before it is deleted, as deleting one that is absent fails.
  std::string script = "table " + table + " {}\ndelete table " + table + "\n";
  if (all.empty()) return script;
  return script + "table " + table + " {\n  chain marks {\n    type filter hook ingress device \"" +
         std::string(interface) + "\" priority 0; policy accept;\n" + rules + "    ip dscp { " + all +
         " } counter ip dscp set 0\n  }\n}\n";
}

}  // namespace railweave::fabric::linux_tc
