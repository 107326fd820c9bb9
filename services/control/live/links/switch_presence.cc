#include "services/control/live/links/switch_presence.h"

#include <utility>

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

SwitchPresences::SwitchPresences(const SubnetLinks& links, const FabricDriver& driver, const std::set<Guid>& silent) {
  const Topology& t = *links.topology();
  of_.assign(t.switches().size(), SwitchPresence::present);
  std::vector<bool> reached(of_.size(), true);
  for (const SwitchId sw : links.switches()) {
    const Guid guid = t.guid(sw);
    reached[sw.index()] = driver.is_present(guid);
    if (!reached[sw.index()]) ++unreached_;
    if (!reached[sw.index()]) of_[sw.index()] = SwitchPresence::gone;  // unless a cable says otherwise
    if (reached[sw.index()] && silent.contains(guid)) of_[sw.index()] = SwitchPresence::silent;
  }
  if (unreached_ == 0) return;
  // From the cables that are up at the near end and lead to no device that answers, on to what is behind.
  std::vector<std::vector<SwitchId>> behind(of_.size());  // cables between switches that are not reached
  std::vector<SwitchId> queue;
  const auto seed = [&](SwitchId sw) {
    if (of_[sw.index()] == SwitchPresence::silent) return;
    of_[sw.index()] = SwitchPresence::silent;
    queue.push_back(sw);
  };
  for (const SubnetLinks::Cable& cable : links.cables()) {
    if (!t.joins_switches(cable.link)) continue;
    const SwitchId a = t.find_switch(cable.a);
    const SwitchId b = t.find_switch(cable.b);
    if (reached[a.index()] && reached[b.index()]) continue;
    if (!reached[a.index()] && !reached[b.index()]) {
      behind[a.index()].push_back(b);
      behind[b.index()].push_back(a);
    } else if (reached[a.index()] ? !driver.read_link(cable.a, cable.a_port).known
                                  : !driver.read_link(cable.b, cable.b_port).known) {
      seed(reached[a.index()] ? b : a);
    }
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const SwitchId next : behind[queue[i].index()]) seed(next);
  }
}

}  // namespace railweave::control
