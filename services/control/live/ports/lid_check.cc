#include "services/control/live/ports/lid_check.h"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::size_t kMaxLidAlarms = 64;

struct LidHolder {
  std::string name;
  Lid lid = 0, wanted = 0;  // wanted 0: any
};

// Calls visit(holder's name as a function, lid as read, own lid) for switches and end ports that have one.
template <class Visit>
void for_each_lid(const SubnetContext& context, const SubnetLinks& links, const RoutingScope* scope, Visit visit) {
  const Topology& t = *links.topology();
  const FabricDriver& driver = context.driver();
  for (const SwitchId sw : links.switches()) {
    const Lid lid = driver.read_lid(t.guid(sw), 0);
    if (lid != 0) visit([&] { return "switch " + std::string(t.name(sw)); }, lid, scope ? scope->lid(sw) : Lid{0});
  }
  for (const SubnetLinks::Cable& cable : links.cables()) {
    if (t.joins_switches(cable.link)) continue;
    const PortId end = t.is_switch_port(t.a(cable.link)) ? t.b(cable.link) : t.a(cable.link);
    const HcaId hca = t.hca_of(end);
    if (!hca || !driver.is_present(t.guid(hca))) continue;
    const Lid lid = driver.read_lid(t.guid(hca), t.number(end));
    const DestinationId id = scope ? scope->find(end) : DestinationId();
    if (lid == 0) continue;
    visit([&] { return fmt::format("port {} of '{}'", t.port_text(end), t.description(hca)); }, lid,
          id ? scope->lid(id) : Lid{0});
  }
}

}  // namespace

LidFindings check_lids(const SubnetContext& context, const SubnetLinks& links, const RoutingScope* scope) {
  LidFindings found;
  std::unordered_map<Lid, unsigned> holders;
  for_each_lid(context, links, scope, [&](auto, Lid lid, Lid own) {
    ++holders[lid];
    found.differ = found.differ || (own != 0 && own != lid);
  });
  const bool are_unique = std::ranges::all_of(holders, [](const auto& entry) { return entry.second == 1; });
  if (are_unique && !found.differ) return found;
  std::map<Lid, std::string> shared;
  const auto raise = [&](Lid lid, std::string text) {
    if (found.alarms.size() == kMaxLidAlarms) return;
    found.alarms.push_back({.subject_kind = "lid",
                            .subject_id = fmt::format("{}/{}", context.options.subnet, lid),
                            .severity = AlarmSeverity::critical,
                            .text = std::move(text)});
  };
  for_each_lid(context, links, scope, [&](auto name, Lid lid, Lid own) {
    if (holders[lid] > 1) {
      std::string& names = shared[lid];
      names += (names.empty() ? "" : " and ") + name();
    } else if (own != 0 && own != lid) {
      raise(lid, name() + " has LID " + std::to_string(lid) + ", which another program set; packets for its own, " +
                     std::to_string(own) + ", are lost");
    }
  });
  for (const auto& [lid, names] : shared) {
    raise(lid, fmt::format("{} have the same LID, {}: packets for one reach the other", names, lid));
  }
  return found;
}

}  // namespace railweave::control
