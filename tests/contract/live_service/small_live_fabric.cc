#include "tests/contract/live_service/small_live_fabric.h"

#include <string>
#include <utility>

#include "fabric/routing/engine_registry.h"
#include "fabric/topology/topology_builder.h"
#include "services/control/live/cabling/exchanged_cables.h"

namespace railweave::contract {
namespace {

using control::LiveFabric;
using control::SubnetStatus;
using fabric::Topology;

constexpr std::int64_t kSomeTimeUs = 1'790'000'000'000'000;

Guid guid(std::uint64_t number) { return Guid(0x0c42a10300280000 + number); }

// Routes of the accepted topology; and the same with one link between switches down, as if a switch held old tables.
void route(const fabric::TopologyPtr& topology, SubnetStatus& status) {
  auto scope = fabric::RoutingScope::make(topology);
  if (!scope || topology->switches().empty()) return;
  const auto engine = fabric::choose_engine(**scope).engine;
  fabric::RoutingInput input{.view = fabric::FabricView(topology), .scope = *scope};
  auto wanted = engine->route(input);
  if (!wanted) return;
  for (const auto link : topology->links()) {
    if (!topology->joins_switches(link)) continue;
    input.view.set_state(link, fabric::LinkState::down);
    break;
  }
  auto applied = engine->route(input);
  if (!applied) return;
  status.wanted_digest = wanted->tables.digest();
  status.applied_digest = applied->tables.digest();
  status.wanted = std::make_shared<const fabric::Routing>(std::move(*wanted));
  status.applied = std::make_shared<const fabric::Routing>(std::move(*applied));
  status.blocks_wanted = 3;
  status.blocks_differing = 2;
  status.lanes = control::LanesStatus{.used = 1, .needed = 2, .problem = "the ports have 1"};
  status.lanes->old_levels = fabric::OldLevels{.outcome = fabric::OldLevels::Outcome::credit_loops, .loop_lanes = 2};
  status.lanes->old_levels_audited_us = kSomeTimeUs + 6;
  status.tables_seen.read_back_us = kSomeTimeUs + 5;
}

std::optional<control::PortCounters> count(const Topology& topology, fabric::PortId port) {
  if (topology.is_hca_port(port) && topology.number(port) == 1) {
    return control::PortCounters{.read_us = kSomeTimeUs, .sent_bytes = 7};  // read once
  }
  if (!topology.is_switch_port(port)) return std::nullopt;
  control::PortCounters counters{.read_us = kSomeTimeUs,
                                 .sent_bytes = 5'000'000'000U + port.value(),
                                 .received_bytes = 4'000'000'000,
                                 .sent_packets = 2'000'000,
                                 .symbol_errors = 3};
  counters.sent_gbps = 100;
  counters.received_gbps = 50.5;
  counters.utilisation = 0.25;
  counters.average_utilisation = 0.125;
  counters.peak_utilisation = 0.5;
  return counters;
}

// Ten minutes before kSomeTimeUs a quarter of the rate, then for five minutes half of it, with 200 symbol errors in the last.
fabric::health::CounterArchive ten_minutes() {
  fabric::health::CounterArchive archive(1, {});
  constexpr std::int64_t kMinuteUs = 60'000'000;
  for (int minute = 10; minute > 0; --minute) {
    const auto from = kSomeTimeUs - minute * kMinuteUs;
    archive.add(0, {.from_us = from,
                    .to_us = from + kMinuteUs,
                    .load = minute > 5 ? 0.25F : 0.5F,
                    .waiting = 0,
                    .errors = {minute == 1 ? 200U : 0U}});
  }
  return archive;
}

// Of node-1, where it is accepted still.
control::FoundChangesPtr another_adapter(const control::ClusterState& state) {
  const auto hca = state.topology().find_hca(guid(0x110));
  control::FoundChanges changes{state.accepted.version, {}};
  if (hca) {
    changes.items.push_back({.kind = control::FoundChange::Kind::exchangedAdapter,
                             .id = "exchangedAdapter:" + to_string(guid(0x110)),
                             .subject_kind = "node",
                             .subject_id = "node-1",
                             .text = "adapter mlx5_0 of node node-1 is exchanged",
                             .exchanged = {{guid(0x110), guid(0x990), {{guid(0x991), 0}}}},
                             .cables = {}});
  }
  return std::make_shared<const control::FoundChanges>(std::move(changes));
}

}  // namespace

fabric::TopologyPtr found_nodes(unsigned nodes) {
  fabric::TopologyBuilder builder;
  const auto subnet = builder.subnet("compute");
  const auto add = [&](unsigned number, const char* name) {
    return builder.add_switch(
        {.guid = guid(number), .name = name, .ports = 16, .subnet = subnet, .lid = static_cast<fabric::Lid>(number)});
  };
  const fabric::SwitchDraft leaves[] = {add(1, "leaf-1"), add(2, "leaf-2")};
  const auto spine = add(3, "Quantum-2 spine 1");
  const auto cable = fabric::infiniband_link(4, fabric::LinkSpeed::ndr);
  for (unsigned node = 1; node <= nodes; ++node) {
    const auto host = builder.host("node-" + std::to_string(node));
    for (unsigned rail = 0; rail < 2; ++rail) {
      const Guid own = guid(0x100 + node * 16 + rail);
      const auto hca = builder.add_hca({.guid = own, .host = host, .device = rail == 0 ? "mlx5_0" : "mlx5_1"});
      builder.set_port(hca, 1, {.guid = own, .lid = static_cast<fabric::Lid>(100 + node * 2 + rail)});
      builder.connect({leaves[rail], node}, {hca, 1}, cable);
    }
  }
  for (unsigned i = 0; i < 2; ++i) builder.connect({leaves[i], 16}, {spine, i + 1}, cable);
  return std::make_shared<const Topology>(std::move(builder).build().value());
}

namespace {

// The first link between switches flaps, and is used as nothing else joins what it joins.
std::shared_ptr<const control::LinkSights> flapping_uplink(const control::ClusterState& state) {
  auto sights = std::make_shared<control::LinkSights>();
  sights->topology = state.view.topology_ptr();
  for (const auto link : state.topology().links()) {
    if (!sights->flapping.empty() || !state.topology().joins_switches(link)) continue;
    sights->flapping.push_back({.link = link,
                                .since_us = kSomeTimeUs,
                                .until_us = kSomeTimeUs + 600'000'000,
                                .flaps = 5,
                                .is_up = true,
                                .why_used = fabric::health::WhyUsed::last_path});
  }
  return sights;
}

}  // namespace

SmallLiveFabric::SmallLiveFabric(const control::ControlLoop& loop) : loop_(loop), archive_(ten_minutes()) {
  fabric.count_with(count);
  fabric.archive_with([this](const Topology& topology,
                             fabric::PortId port) { return topology.is_switch_port(port) ? &archive_ : nullptr; },
                      [] { return kSomeTimeUs - 1; });
  fabric.answer_with(
      [this](const SubnetStatus& present, LiveFabric::Request request) { return answer(present, request); });
  SubnetStatus compute;
  compute.subnet = "compute";
  compute.port = "mlx5_0/1";
  compute.phase = control::SubnetPhase::watching;
  fabric.publish(std::move(compute));
  SubnetStatus edge;
  edge.subnet = "edge";
  edge.problem = "mlx5_1/1 is down: cable it";
  fabric.publish(std::move(edge));
}

Result<SubnetStatus> SmallLiveFabric::answer(const SubnetStatus& present, LiveFabric::Request request) {
  if (present.subnet == "edge") {
    return fail(ErrorKind::unavailable, "subnets.offline", "mlx5_1/1 is down", {}, "cable it");
  }
  SubnetStatus status = present;
  const auto state = loop_.state();
  status.mode = state->mode(status.subnet);
  status.switches = 3;
  status.adapters = 8;
  status.links.up = 9;
  status.links.down = 1;
  status.sights = flapping_uplink(*state);
  status.discovery.at_us = kSomeTimeUs;
  status.discovery.took_us = 4711;
  status.discovery.mads = 99;
  status.discovered = found_nodes(nodes_);
  using Kind = control::FabricDifference::Kind;
  status.differences = {{Kind::missing_device, "storage-1", "storage-1 was not found"},
                        {Kind::other_lid, "leaf-1", "leaf-1 has LID 1, accepted is 7"}};
  if (state->accepted.intended) {
    const control::SubnetLinks links(state->view.topology_ptr(), status.subnet);
    for (const auto& exchange : control::exchanges(links, *state->accepted.intended->topology)) {
      for (const auto& cable : exchange.cables) {
        status.differences.push_back({Kind::exchanged_link, cable.link, cable.text});
      }
    }
  }
  status.difference_count = status.differences.size();
  status.discovery.changes = another_adapter(*state);
  status.isolated = {{guid(2), "leaf-2", "does not answer", kSomeTimeUs}};
  route(state->view.topology_ptr(), status);
  status.qos = control::QosStatus{
      .classes = 6, .partitions = 2, .ports_programmed = 9, .ports_pending = 3, .problem = "3 ports: leaf-2 is silent"};
  status.discovery.keys = control::KeysStatus{.generation = state->key_generation(status.subnet),
                                              .ports = 12,
                                              .held = 9,
                                              .locked = 1,
                                              .without = 1,
                                              .silent = 1,
                                              .seen_us = kSomeTimeUs};
  status.administration = control::AdministrationStatus{.devices = 5,
                                                        .end_ports = 6,
                                                        .requests = 12,
                                                        .answered = 8,
                                                        .refused = 3,
                                                        .dropped = 1,
                                                        .wrong_keys = 1,
                                                        .subscriptions = 2,
                                                        .reports = 7,
                                                        .reports_confirmed = 5,
                                                        .reports_given_up = 1,
                                                        .asked = {{"NodeRecord", 2, 0, 0}, {"PathRecord", 6, 1, 2}}};
  if (request == LiveFabric::Request::sync) {
    status.qos->files_written_us = kSomeTimeUs;
    // Of node-1's first adapter and of leaf-2's port to node-2.
    const auto pending = std::make_shared<const std::vector<control::PendingPort>>(
        std::vector<control::PendingPort>{{guid(2), 2, ""}, {guid(0x110), 1, "does not answer"}});
    fabric.publish_ports(status.subnet, {.seq = state->seq, .problem = "lanes do not suffice", .pending = pending});
    status.discovery.walk = {.at_us = kSomeTimeUs + 9, .seen_since_us = kSomeTimeUs, .pairs = 56, .lost_pairs = 3};
    for (auto& repair : status.repairs) repair.unreachable_pairs = 0;  // audited meanwhile
    status.repairs.push_back({.cause = "sync was asked for",
                              .at_us = kSomeTimeUs + static_cast<std::int64_t>(status.repairs_total) * 1'000'000,
                              .noticed_us = 10,
                              .swept_us = 200,
                              .computed_us = 300,
                              .programmed_us = 900,
                              .changed_entries = 5,
                              .blocks = 2,
                              .mads = 4});
    ++status.repairs_total;
  }
  return status;
}

}  // namespace railweave::contract
