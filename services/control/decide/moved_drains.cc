#include "services/control/decide/moved_drains.h"

#include <set>
#include <string>
#include <utility>

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
