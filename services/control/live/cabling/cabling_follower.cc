#include "services/control/live/cabling/cabling_follower.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "fabric/formats/native/native_json.h"
#include "services/control/state/cluster_state.h"
#include "services/json/digest.h"

namespace railweave::control {
namespace {

constexpr std::int64_t kUsPerMs = 1000;
constexpr std::size_t kMaxExchangeAlarms = 64;  // further ones share one

}  // namespace

Result<AcceptTopology> fabric_as_cabled(const AcceptedTopology& accepted, const std::vector<fabric::Recabling>& cables,
                                        const std::string& subnet) {
  const AcceptedTopology& intended = accepted.intended ? *accepted.intended : accepted;
  auto topology = fabric_changed(*accepted.topology, cables, {});
  if (!topology) return std::unexpected(topology.error());
  AcceptTopology command{.if_version = accepted.version};
  AcceptTopology::AsCabled as_cabled{.subnet = subnet, .exchanged = count_other_links(**topology, *intended.topology)};
  command.topology = as_cabled.exchanged == 0 ? intended.topology : *topology;
  command.document = std::make_shared<const std::string>(fabric::write_native_json(*command.topology));
  command.digest = as_cabled.exchanged == 0 ? intended.digest : api::sha256_hex(*command.document);
  command.source = as_cabled.exchanged == 0 ? intended.source : intended.source + ", cables as found";
  const fabric::Topology& t = *command.topology;
  for (const fabric::Recabling& cable : cables) {
    if (as_cabled.cables.size() == TopologyDiffers::kMaxEvents) break;
    const auto port = same_port(*accepted.topology, cable.a, t);
    const std::string was = accepted.topology->link_text(accepted.topology->link(cable.a));
    const std::string is = t.link_text(t.link(port));
    as_cabled.cables.push_back(
        {"link", is,
         "the cable of port " + t.port_text(port) + " was put elsewhere: link " + is + " is in the place of " + was});
  }
  command.as_cabled = std::move(as_cabled);
  return command;
}

bool CablingFollower::has_settled(std::int64_t now_us) const {
  return sightings_ >= kSightings && now_us - since_us_ >= 2 * context_.options.sweep_every.count() * kUsPerMs;
}

bool CablingFollower::may_import(std::int64_t now_us) {
  while (!imported_us_.empty() && now_us - imported_us_.front() >= kWindowUs) imported_us_.pop_front();
  return imported_us_.size() < kMaxImports;
}

std::vector<FoundChange> CablingFollower::acceptable(const ClusterState& state) const {
  std::vector<FoundChange> changes;
  const FoundChangesPtr& seen = context_.status().discovery.changes;
  if (context_.options.accept_replacements != AcceptReplacements::sameDescription || seen == nullptr ||
      seen->version != state.accepted.version || state.accepted.intended) {
    return changes;
  }
  std::ranges::copy_if(seen->items, std::back_inserter(changes), &FoundChange::is_described_alike);
  return changes;
}

void CablingFollower::saw(const ClusterState& state, const SubnetLinks& links) {
  const std::int64_t now = context_.now();
  const fabric::Topology* const intended = state.accepted.intended ? state.accepted.intended->topology.get() : nullptr;
  Found found{find_exchanged(links, intended, context_.driver(), !context_.options.use_swapped_cables), {}};
  if (found.cables.empty()) found.changes = acceptable(state);
  if (found != found_ || version_ != state.accepted.version) {
    found_ = std::move(found);
    version_ = state.accepted.version;
    since_us_ = now;
    sightings_ = 0;
  }
  if (found_.empty()) return;
  ++sightings_;
  if (made_.is_running() || !has_settled(now) || !may_import(now)) return;
  imported_us_.push_back(now);
  sightings_ = 0;  // a report that is lost is made again
  since_us_ = now;
  made_.start([accepted = state.accepted, found = found_, subnet = context_.options.subnet] {
    return found.cables.empty() ? fabric_as_found(accepted, found.changes)
                                : fabric_as_cabled(accepted, found.cables, subnet);
  });
}

void CablingFollower::report_made() {
  auto made = made_.take();
  if (made && *made) context_.with.report(std::move(**made));
}

void show_changes(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links) {
  SubnetStatus& status = context.status();
  std::vector<FoundChange> found;
  // They are looked for where a device or a cable is not as accepted.
  if (status.difference_count > 0 && status.discovered != nullptr && state.accepted.topology == links.topology()) {
    found = find_changes(links, context.driver(), *status.discovered, context.mode() == SubnetMode::direct);
  }
  std::vector<Alarm> exchanged, moved;
  for (const FoundChange& change : found) {
    auto& alarms = change.kind == FoundChange::Kind::movedHost ? moved : exchanged;
    const std::string text = change.text + "; nothing is routed there until it is accepted: railweave subnets accept " +
                             context.options.subnet + " " + change.id;
    // Several adapters of one node share its alarm.
    const auto same = std::ranges::find(alarms, change.subject_id, &Alarm::subject_id);
    if (same != alarms.end()) {
      same->text += "; " + text;
    } else if (alarms.size() < kMaxExchangeAlarms) {
      alarms.push_back({.subject_kind = change.subject_kind, .subject_id = change.subject_id, .text = text});
    }
  }
  context.alarms().set("device.exchanged", std::move(exchanged));
  context.alarms().set("host.moved", std::move(moved));
  const bool is_news =
      status.discovery.changes == nullptr
          ? !found.empty()
          : status.discovery.changes->items != found || status.discovery.changes->version != state.accepted.version;
  if (is_news)
    status.discovery.changes =
        std::make_shared<const FoundChanges>(FoundChanges{state.accepted.version, std::move(found)});
}

void show_exchanges(const SubnetContext& context, const std::vector<Exchange>& exchanges) {
  SubnetStatus& status = context.status();
  std::vector<Alarm> alarms;
  for (const Exchange& exchange : exchanges) {
    for (const Exchange::Cable& cable : exchange.cables) {
      ++status.difference_count;
      if (status.differences.size() == SubnetStatus::kMaxDifferences) continue;
      status.differences.push_back({FabricDifference::Kind::exchanged_link, cable.link, cable.text});
    }
    if (alarms.size() > kMaxExchangeAlarms) continue;
    alarms.push_back({.subject_kind = "link", .subject_id = exchange.cables.front().link, .text = exchange.text});
  }
  if (alarms.size() > kMaxExchangeAlarms) {
    alarms.assign(1, {.subject_kind = "subnet",
                      .subject_id = context.options.subnet,
                      .text = fmt::format(
                          "{} groups of cables of {} are exchanged and used as they are: railweave subnets show {}",
                          exchanges.size(), context.name(), context.options.subnet)});
  }
  context.alarms().set("link.exchanged", std::move(alarms));
}

}  // namespace railweave::control
