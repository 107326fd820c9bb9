#include "services/control/live/routes/truth_probe.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "services/control/live/routes/table_reading.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::size_t kMaxPairsNamed = 8;
constexpr std::size_t kMaxExamples = 4'096;  // those that no tables can repair come among them
constexpr std::int64_t kUsPerSecond = 1'000'000;

// By tables: pairs that no cable connects are lost to any of them.
bool is_by_tables(UnreachedPair::Reason reason) {
  using Reason = UnreachedPair::Reason;
  return reason == Reason::no_entry || reason == Reason::dead_port || reason == Reason::wrong_port ||
         reason == Reason::loop;
}

std::string end_port_name(const Topology& t, PortId port) {
  const HcaId hca = t.hca_of(port);
  return hca ? fmt::format("'{}' port {}", t.description(hca), t.number(port)) : t.port_text(port);
}

}  // namespace

TruthProbe::TruthProbe(const SubnetContext& context, const SubnetLinks& links, RouteAudit& walks)
    : context_(context), links_(links), walks_(walks) {
  if (!links.found()) return;
  const Topology& t = *links.topology();
  switches_.resize(t.switches().size());
  cables_.resize(links.cables().size());
  cable_of_link_.assign(t.links().size(), UINT32_MAX);
  for (std::size_t i = 0; i < links.cables().size(); ++i) {
    cable_of_link_[links.cables()[i].link.index()] = static_cast<std::uint32_t>(i);
  }
}

void TruthProbe::touch(SwitchId sw) {
  if (switches_[sw.index()].seen_us != 0) ++missing_;
  switches_[sw.index()] = {};
  walk_ = 0;
  const Topology& t = *links_.topology();
  for (const PortId port : t.ports(sw)) {
    const LinkId link = t.link(port);
    if (!link || cable_of_link_[link.index()] == UINT32_MAX) continue;
    const SubnetLinks::Cable& cable = links_.cables()[cable_of_link_[link.index()]];
    const bool is_a = cable.a == t.guid(sw) && cable.a_port == t.number(port);
    Cable& seen = cables_[cable_of_link_[link.index()]];
    (is_a ? seen.a : seen.b) = End::unseen;
  }
}

void TruthProbe::touch_all() {
  for (const SwitchId sw : links_.switches()) touch(sw);
}

std::vector<SwitchId> TruthProbe::due(std::int64_t now_us, std::int64_t every_us, Lid top,
                                      const std::function<bool(SwitchId)>& may_ask) {
  std::vector<SwitchId> due;
  if (now_us < next_us_) return due;
  const std::int64_t again_us = context_.options.sweep_every.count() * 1000;  // after it did not answer
  std::uint64_t asked = 0;
  // What was seen of a switch that cannot be reached any more is old.
  for (const SwitchId sw : links_.switches()) {
    if (switches_[sw.index()].seen_us != 0 && !may_ask(sw)) touch(sw);
  }
  missing_ = 0;
  const Topology& t = *links_.topology();
  // Those touched first.
  for (const bool touched : {true, false}) {
    for (const SwitchId sw : links_.switches()) {
      Switch& one = switches_[sw.index()];
      if ((one.seen_us == 0) != touched || !may_ask(sw)) continue;
      if (touched) ++missing_;
      if (!touched && now_us - one.seen_us < every_us) continue;
      if (due.size() == kMaxSwitchesPerSlice || asked > kMaxPerSlice) continue;
      if (one.tried_us != 0 && now_us - one.tried_us < again_us) continue;
      due.push_back(sw);
      asked += top / kLidsPerBlock + 3 + 3 * t.ports(sw).size();
    }
  }
  next_us_ = now_us + static_cast<std::int64_t>(asked) * kUsPerSecond / static_cast<std::int64_t>(kMaxPerSecond);
  return due;
}

void TruthProbe::take(std::span<const SwitchSight> sights, const Routing& like, std::span<const Lid> lids,
                      std::int64_t now_us) {
  std::vector<TableReading> readings;
  for (const SwitchSight& sight : sights) {
    Switch& one = switches_[sight.table.sw.index()];
    one.tried_us = now_us;
    if (!sight.table.answered) continue;
    if (one.seen_us == 0 && missing_ > 0) --missing_;
    one = {.seen_us = now_us, .seen_unix_us = context_.with.unix_us(), .tried_us = 0};
    readings.push_back(sight.table);
    take_ports(sight);
    news_ = true;
  }
  if (!readings.empty()) seen_ = with_readings(seen_ ? *seen_ : like, readings, lids);
}

void TruthProbe::take_ports(const SwitchSight& sight) {
  const Topology& t = *links_.topology();
  const auto ports = t.ports(sight.table.sw);
  for (std::size_t number = 1; number < sight.ports.size() && number <= ports.size(); ++number) {
    const PortId port = ports[number - 1];
    const LinkId link = t.link(port);
    if (!link || cable_of_link_[link.index()] == UINT32_MAX) continue;
    const std::uint32_t at = cable_of_link_[link.index()];
    const SubnetLinks::Cable& accepted = links_.cables()[at];
    const SwitchSight::Port& seen = sight.ports[number];
    const bool is_a = accepted.a == t.guid(sight.table.sw) && accepted.a_port == number;
    const Guid peer = is_a ? accepted.b : accepted.a;
    const unsigned peer_port = is_a ? accepted.b_port : accepted.a_port;
    const bool is_as_accepted = !seen.peer.known() || (seen.peer == peer && seen.peer_port == peer_port);
    (is_a ? cables_[at].a : cables_[at].b) = seen.up && seen.active && is_as_accepted ? End::up : End::down;
    if (is_a && !t.joins_switches(link)) cables_[at].lid = is_as_accepted ? seen.peer_lid : Lid{0};
  }
}

// None: no end of it was seen.
std::optional<LinkState> TruthProbe::state_of(std::size_t cable) const {
  const Cable& seen = cables_[cable];
  if (seen.a == End::unseen && seen.b == End::unseen) return std::nullopt;
  return seen.a == End::down || seen.b == End::down ? LinkState::down : LinkState::up;
}

void TruthProbe::start_walk(const WantedRoutes& wanted, const ObservedLinks& observed) {
  if (walks_.is_running()) {
    (void)walks_.take(0);  // of other tables
    if (walks_.is_running()) return;
  }
  FabricView view = wanted.view();
  links_differing_ = 0;
  for (std::size_t i = 0; i < cables_.size(); ++i) {
    const auto state = state_of(i);
    const LinkId link = links_.cables()[i].link;
    if (!state) {  // both ends cannot be reached, which other alarms say: no table there can be seen or written
      view.set_state(link, LinkState::down);
      continue;
    }
    const bool is_down = *state == LinkState::down;
    if (is_down != observed.was_found_down(i)) ++links_differing_;
    // One that is held out of use joins what it joins: nothing is to be lost for want of it.
    const LinkState walked = is_down ? LinkState::down : LinkState::up;
    if ((view.state(link) == LinkState::down) != (walked == LinkState::down)) view.set_state(link, walked);
  }
  news_ = false;
  walk_ = walks_.unused_version();
  wanted_version_ = wanted.version();
  seen_->lanes = wanted.routing().lanes;
  walks_.start(view, *seen_, planes_of(wanted.base()->scope(), links_.switches()), walk_,
               {.shift_samples = 0, .max_examples = kMaxExamples, .parts = 1, .run = {}});
}

std::optional<TruthProbe::Verdict> TruthProbe::take_walk(const WantedRoutes& wanted) {
  if (walk_ == 0) return std::nullopt;
  const auto walked = walks_.take(walk_);
  if (!walked) return std::nullopt;
  walk_ = 0;
  if (wanted.version() != wanted_version_) return std::nullopt;
  const AuditReport& report = walked->report;
  Verdict verdict{.pairs = report.pairs,
                  .lost = report.unreachable_pairs - report.cut_off_pairs,
                  .links_differing = links_differing_};
  for (const SwitchId sw : links_.switches()) {
    const std::int64_t seen = switches_[sw.index()].seen_unix_us;
    if (seen != 0 && (verdict.since_us == 0 || seen < verdict.since_us)) verdict.since_us = seen;
  }
  if (verdict.lost != 0) verdict.text = pairs_text(report, verdict.lost);
  if (context_.mode() == SubnetMode::direct) count_lids(wanted.base()->scope(), verdict);
  const auto add = [&](const std::string& text) { verdict.text += (verdict.text.empty() ? "" : "; ") + text; };
  if (report.credit_loops != 0) add("the tables that switches hold can deadlock");
  if (links_differing_ != 0) {
    add(fmt::format("{}{} in another state than the sweeps found", links_differing_,
                    links_differing_ == 1 ? " link is" : " links are"));
  }
  return verdict;
}

// End ports that answer with another LID than the tables have entries for.
void TruthProbe::count_lids(const RoutingScope& scope, Verdict& verdict) const {
  const Topology& t = *links_.topology();
  for (std::size_t i = 0; i < cables_.size(); ++i) {
    const LinkId link = links_.cables()[i].link;
    if (cables_[i].lid == 0 || t.joins_switches(link)) continue;
    const PortId port = t.is_switch_port(t.a(link)) ? t.b(link) : t.a(link);
    const DestinationId id = scope.find(port);
    if (!id || scope.lid(id) == cables_[i].lid) continue;
    if (verdict.lids_differing++ >= kMaxPairsNamed) continue;
    verdict.text += fmt::format("{}{} has LID {}, not {}", verdict.text.empty() ? "" : "; ", end_port_name(t, port),
                                cables_[i].lid, scope.lid(id));
  }
}

std::string TruthProbe::pairs_text(const AuditReport& report, std::uint64_t lost) const {
  const Topology& t = *links_.topology();
  const RoutingScope& scope = seen_->tables.scope();
  std::string text = fmt::format(
      "by the tables that switches hold {} of {} pairs of end ports cannot reach each other: ", lost, report.pairs);
  std::size_t named = 0;
  for (const UnreachedPair& pair : report.unreached) {
    if (!is_by_tables(pair.reason) || named == kMaxPairsNamed) continue;
    const Destination& to = scope.destination(pair.destination);
    const std::string name = to.port ? end_port_name(t, to.port) : "switch " + std::string(t.name(to.home));
    text +=
        fmt::format("{}{} of {} to {} ({}{})", named++ == 0 ? "" : ", ", pair.sources, t.name(pair.from), name,
                    fabric::to_string(pair.reason), pair.at ? " at " + std::string(t.name(pair.at)) : std::string());
  }
  if (named < lost) text += ", and more";
  return text;
}

}  // namespace railweave::control
