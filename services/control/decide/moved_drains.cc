#include "services/control/decide/moved_drains.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "services/control/state/cluster_state.h"

namespace railweave::control {
namespace {

// The ports that the link has, or had, by one of these topologies; none: no one of them has it.
std::vector<std::string> ends_of(const std::string& link_text, const ClusterState& before, const ClusterState& after) {
  for (const auto* accepted : {&before.accepted, before.accepted.intended.get(), after.accepted.intended.get()}) {
    const auto link = accepted == nullptr ? fabric::LinkId() : accepted->topology->find_link(link_text);
    if (!link) continue;
    const auto& t = *accepted->topology;
    return {t.port_text(t.a(link)), t.port_text(t.b(link))};
  }
  return {};
}

// Drains that the drained links `drains` ask for, of what their ports lead to now.
void follow(const DrainTable& drains, const ClusterState& before, const ClusterState& after,
            std::vector<EventBody>& events) {
  const auto& t = after.topology();
  std::set<DrainTarget> drained;
  for (const auto& [target, drain] : drains) drained.insert(target);
  for (const auto& [target, drain] : drains) {
    if (target.kind != DrainKind::link || !drain.follows.empty() || t.find_link(target.id)) continue;
    for (const std::string& end : ends_of(target.id, before, after)) {
      const auto port = t.find_port(end);
      const auto link = port ? t.link(port) : fabric::LinkId();
      if (!link || !drained.insert({DrainKind::link, t.link_text(link)}).second) continue;
      events.emplace_back(DrainRequested{{DrainKind::link, t.link_text(link)},
                                         "cables are exchanged: it is at port " + end + " of drained link " + target.id,
                                         true,
                                         target.id});
    }
  }
}

}  // namespace

std::vector<EventBody> moved_drains(const ClusterState& before, const ClusterState& after) {
  std::vector<EventBody> events;
  const auto& t = after.topology();
  DrainTable drains = *after.drains;
  std::erase_if(drains, [&](const auto& item) {
    const auto& [target, drain] = item;
    if (drain.follows.empty() || (t.find_link(target.id) && !t.find_link(drain.follows))) return false;
    events.emplace_back(
        DrainCleared{target, "it followed the drain of link " + drain.follows + ", whose cable was put elsewhere"});
    return true;
  });
  follow(drains, before, after, events);
  return events;
}

namespace {

// The port that stands in the place of one of before; none: it is gone.
fabric::PortId port_now(const fabric::Topology& before, fabric::PortId port, const fabric::Topology& now,
                        const std::map<Guid, Guid>& exchanged) {
  const auto sw = before.switch_of(port);
  const auto hca = before.hca_of(port);
  if (!sw && !hca) return {};
  Guid guid = sw ? before.guid(sw) : before.guid(hca);
  if (const auto at = exchanged.find(guid); at != exchanged.end()) guid = at->second;
  const unsigned number = before.number(port);
  if (sw) {
    const auto same = now.find_switch(guid);
    return same && number <= now.ports(same).size() ? now.ports(same)[number - 1U] : fabric::PortId();
  }
  const auto same = now.find_hca(guid);
  return same && number <= now.ports(same).size() ? now.ports(same)[number - 1U] : fabric::PortId();
}

// What the link is called now; "": as before, or it is gone.
std::string link_now(const fabric::Topology& before, const std::string& name, const fabric::Topology& now,
                     const std::map<Guid, Guid>& exchanged) {
  const auto link = before.find_link(name);
  if (!link || now.find_link(name)) return {};
  const auto port = port_now(before, before.a(link), now, exchanged);
  const bool is_there = port && now.link(port) && now.peer(port) == port_now(before, before.b(link), now, exchanged);
  return is_there ? now.link_text(now.link(port)) : std::string();
}

}  // namespace

std::vector<EventBody> drains_of_exchanged(const ClusterState& before, const ClusterState& after,
                                           const std::vector<std::pair<Guid, Guid>>& exchanged) {
  const fabric::Topology &was = before.topology(), &is = after.topology();
  const std::map<Guid, Guid> now(exchanged.begin(), exchanged.end());
  std::vector<EventBody> events;
  for (const auto& [target, drain] : *after.drains) {
    std::string name;
    if (target.kind == DrainKind::link) name = link_now(was, target.id, is, now);
    if (const auto sw = target.kind == DrainKind::network_switch ? was.find_switch(target.id) : fabric::SwitchId()) {
      const auto at = now.find(was.guid(sw));
      if (at != now.end() && !is.find_switch(target.id)) name = to_string(at->second);
    }
    if (name.empty()) continue;
    events.emplace_back(DrainCleared{target, "another device is in the place of the one that it names"});
    events.emplace_back(DrainRequested{{target.kind, name}, drain.reason, true, drain.follows});
  }
  auto costs = after.link_costs->by_link;
  for (const auto& [link, cost] : after.link_costs->by_link) {
    const std::string name = link_now(was, link, is, now);
    if (name.empty()) continue;
    costs.erase(link);
    costs.emplace(name, cost);
  }
  if (costs != after.link_costs->by_link) events.emplace_back(LinkCostsSet{std::move(costs), after.link_costs->reason});
  return events;
}

std::vector<EventBody> clear_with_followers(const ClusterState& state, const DrainCleared& cleared) {
  std::vector<EventBody> events{cleared};
  DrainTable drains = *state.drains;
  drains.erase(cleared.target);
  if (cleared.target.kind != DrainKind::link) return events;
  const auto followers = std::erase_if(drains, [&](const auto& item) {
    if (item.second.follows != cleared.target.id) return false;
    events.emplace_back(DrainCleared{item.first, "it followed the drain of link " + cleared.target.id});
    return true;
  });
  if (followers > 0) follow(drains, state, state, events);
  return events;
}

}  // namespace railweave::control
