#include "fabric/formats/sources/compare_cables.h"

#include <utility>

#include "fabric/base/plural.h"

namespace railweave::fabric {
namespace {

// The port of another topology with the same device and number; none: it has no such device or port.
PortId same_port(const Topology& from, PortId port, const Topology& in) {
  const unsigned number = from.number(port);
  if (const SwitchId sw = from.switch_of(port)) {
    const Guid guid = from.guid(sw);
    const SwitchId other = guid.known() ? in.find_switch(guid) : SwitchId();
    return other && number <= in.ports(other).size() ? in.ports(other)[number - 1] : PortId();
  }
  const HcaId hca = from.hca_of(port);
  if (!hca) return {};
  for (const Guid guid : {from.port_guid(port), from.guid(hca)}) {
    const HcaId other = guid.known() ? in.find_hca(guid) : HcaId();
    if (other && number <= in.ports(other).size()) return in.ports(other)[number - 1];
  }
  return {};
}

// Cables of `from` that `in` has not, and those whose rates differ.
struct CableDifferences {
  std::vector<std::string> missing, rates;
  std::size_t missing_count = 0, rate_count = 0;
};

CableDifferences differences_of(const Topology& from, const Topology& in) {
  CableDifferences found;
  for (const LinkId link : from.links()) {
    if (from.kind(link) == LinkKind::nvlink) continue;
    const PortId a = same_port(from, from.a(link), in), b = same_port(from, from.b(link), in);
    if (!a || !b || in.peer(a) != b) {
      if (++found.missing_count <= kMaxFindingObjects) found.missing.push_back(from.link_text(link));
      continue;
    }
    const RateMbps here = from.rate(link), there = in.rate(in.link(a));
    if (here.value() == 0 || there.value() == 0 || here == there) continue;
    if (++found.rate_count <= kMaxFindingObjects) found.rates.push_back(from.link_text(link));
  }
  return found;
}

}  // namespace

bool share_a_switch(const Topology& a, const Topology& b) {
  for (const SwitchId sw : a.switches()) {
    if (a.guid(sw).known() && b.find_switch(a.guid(sw))) return true;
  }
  return false;
}

std::vector<Finding> compare_cables(const Topology& first, const std::string& first_name, const Topology& other,
                                    const std::string& other_name) {
  std::vector<Finding> findings;
  const auto add = [&](std::string message, std::vector<std::string> objects) {
    findings.push_back({"sourcesDisagree", Severity::warning,
                        std::move(message) + "; " + first_name + " counts, as it was read first", std::move(objects)});
  };
  CableDifferences only_other = differences_of(other, first), only_first = differences_of(first, other);
  if (only_other.missing_count > 0) {
    add(other_name + " has " + plural(only_other.missing_count, "cable", "cables") + " that " + first_name +
            " has not, or has elsewhere",
        std::move(only_other.missing));
  }
  if (only_first.missing_count > 0) {
    add(first_name + " has " + plural(only_first.missing_count, "cable", "cables") + " that " + other_name +
            " has not, or has elsewhere",
        std::move(only_first.missing));
  }
  if (only_first.rate_count > 0) {
    add(first_name + " and " + other_name + " tell different rates of " +
            plural(only_first.rate_count, "cable", "cables"),
        std::move(only_first.rates));
  }
  return findings;
}

}  // namespace railweave::fabric
