// What SubnetController shows, tells and reports of the subnet.
#include <algorithm>
#include <utility>

#include "services/control/live/links/link_alarms.h"
#include "services/control/live/subnet_controller.h"
#include "services/control/state/link_state.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

// Through the local port nothing is seen any more. That says nothing of switches, which keep what they have; what they
// hold, and which ports are active, is read again when they are back.
void SubnetController::go_blind() {
  if (!is_blind_) context_.log().warn("blind: the local port has no link, or what is behind it does not answer");
  is_blind_ = true;
  followed_->ports.forget();
  followed_->routes.forget_applied();
  followed_->qos.forget_all();
  board_.status().phase = SubnetPhase::blind;
  board_.status().problem =
      context_.name() + " cannot be seen: the local port has no link, or what is behind it does not answer";
  board_.alarms().set_subnet("subnet.blind", AlarmSeverity::critical,
                             board_.status().problem + "; switches keep their tables, and nothing is repaired");
  board_.publish();
}

void SubnetController::leave_blindness() {
  if (!is_blind_) return;
  context_.log().info("is seen again");
  is_blind_ = false;
  board_.status().problem.clear();
  board_.status().phase = SubnetPhase::discovering;
  board_.alarms().set_subnet("subnet.blind", AlarmSeverity::critical, "");
}

void SubnetController::tell_links(const ObservedLinks::Change& change, const RepairCause& cause) const {
  constexpr std::size_t kMaxNamed = 20;  // a switch that is off takes all of its links with it
  if (change.differing.empty()) return;
  if (change.is_first) {
    context_.log().debug("links: {} observed for the first time", change.differing.size());
    return;
  }
  context_.log().info("links: {} ({})", change.text(), cause.text);
  if (!rounds_.is_on(log::Level::debug)) return;
  const SubnetLinks& links = followed_->links;
  for (std::size_t i = 0; i < std::min(change.differing.size(), kMaxNamed); ++i) {
    const std::size_t cable = change.differing[i];
    context_.log().debug("link {} is {}", links.topology()->link_text(links.cables()[cable].link),
                         to_string(followed_->observed.states()[cable]));
  }
}

// Whatever the control loop does not know yet: a report that was lost is made again with the next sweep.
void SubnetController::report_links(const ClusterState& state) {
  const SubnetLinks& links = followed_->links;
  if (state.view.topology_ptr() != links.topology()) return;
  const auto states = followed_->observed.states();
  ReportLinks report{options_.subnet, {}};
  for (std::size_t i = 0; i < states.size(); ++i) {
    const LinkId link = links.cables()[i].link;
    const RateMbps rate = followed_->observed.rates().of(i);
    if (state.view.state(link) == states[i] && state.view.rate_seen(link) == rate) continue;
    const bool is_held = states[i] == LinkState::down && !followed_->observed.was_found_down(i);
    report.links.push_back(
        {.link = links.topology()->link_text(link), .state = states[i], .damped = is_held, .rate = rate});
  }
  if (report.links.empty()) return;
  context_.log().debug("reports the states of {} links", report.links.size());
  with_.report(std::move(report));
}

void SubnetController::show_differences(const ClusterState& state) {
  control::show_differences(context_, state, followed_->links, followed_->observed,
                            followed_->routes.applied().isolated(), followed_->routes.presences());
  if (!followed_->links.found()) return;
  show_exchanges(context_, followed_->exchanged);
  show_changes(context_, state, followed_->links);
}

std::shared_ptr<const SubnetHealth> SubnetController::health() const {
  const std::lock_guard lock(health_mutex_);
  return health_;
}

std::optional<PortCounters> SubnetController::counters(const Topology& topology, PortId port) const {
  const auto known = health();
  return known ? known->counters(topology, port) : std::nullopt;
}

std::optional<PastCounters> SubnetController::counters_at(const Topology& topology, PortId port,
                                                          std::int64_t at_us) const {
  const auto known = health();
  return known ? known->counters_at(topology, port, at_us, with_.unix_us()) : std::nullopt;
}

void SubnetController::archive(const Topology& topology, std::span<const PortId> ports, health::ArchiveRing ring,
                               ArchivedPorts& ranges) const {
  if (const auto known = health()) known->archive(topology, ports, ring, with_.unix_us(), ranges);
}

}  // namespace railweave::control
