#include "fabric/drivers/linux_tc/mark_filter.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "fabric/drivers/linux_tc/interface_name.h"

namespace railweave::fabric::linux_tc {

Result<std::string> mark_filter(std::string_view interface, const std::vector<std::uint8_t>& filtered,
                                const std::vector<AdmittedDscp>& admitted) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid, "tc.invalid", std::move(message)); };
  if (!is_interface_name(interface)) return refuse(fmt::format("'{}' is no name of an interface", interface));
  std::string all;
  std::set<unsigned> known, seen;
  for (const std::uint8_t dscp : filtered) {
    if (dscp == 0 || dscp > 63 || !known.insert(dscp).second) return refuse("DSCPs to filter are 1 to 63, each once");
    all += fmt::format("{}{}", all.empty() ? "" : ", ", dscp);
  }
  std::string rules;
  for (const AdmittedDscp& one : admitted) {
    if (!known.contains(one.dscp) || !seen.insert(one.dscp).second) {
      return refuse(fmt::format("DSCP {} is admitted twice, or is none of those to filter", one.dscp));
    }
    std::string to;
    for (const std::string& address : one.destinations) {
      if (!is_ipv4_address(address)) return refuse("'" + address + "' is no IPv4 address");
      to += (to.empty() ? "" : ", ") + address;
    }
    if (to.empty()) continue;
    rules += fmt::format("    ip dscp {} ip daddr {{ {} }} accept\n", one.dscp, to);
  }
  const std::string table = "netdev railweave_" + std::string(interface);
  // A table is made before it is deleted, as deleting one that is absent fails.
  std::string script = "table " + table + " {}\ndelete table " + table + "\n";
  if (all.empty()) return script;
  return fmt::format(
      "{}table {} {{\n"
      "  chain marks {{\n"
      "    type filter hook ingress device \"{}\" priority 0; policy accept;\n"
      "{}    ip dscp {{ {} }} counter ip dscp set 0\n"
      "  }}\n"
      "}}\n",
      script, table, interface, rules, all);
}

}  // namespace railweave::fabric::linux_tc
