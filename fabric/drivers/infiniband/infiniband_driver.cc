#include "fabric/drivers/infiniband/infiniband_driver.h"

#include <algorithm>
#include <string>
#include <utility>

#include "fabric/drivers/infiniband/administered_devices.h"
#include "fabric/drivers/infiniband/end_port_recheck.h"
#include "fabric/drivers/infiniband/fenced_port.h"
#include "fabric/drivers/infiniband/key_keeper.h"
#include "fabric/drivers/infiniband/keyed_port.h"
#include "fabric/drivers/infiniband/mad/notice.h"
#include "fabric/drivers/infiniband/mad/sm_info.h"
#include "fabric/drivers/infiniband/mad/smp.h"
#include "fabric/drivers/infiniband/port_recheck.h"
#include "fabric/drivers/infiniband/port_table_reader.h"
#include "fabric/drivers/infiniband/port_writer.h"
#include "fabric/drivers/infiniband/subnet_topology.h"
#include "fabric/drivers/infiniband/switch_look.h"
#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric::infiniband {

namespace {

constexpr std::size_t kMaxObservations = 4096;  // kept until observe(); "lost" then says that there were more

}  // namespace

InfinibandDriver::InfinibandDriver(std::unique_ptr<MadPort> port, const InfinibandOptions& options)
    : options_(options),
      keys_(options.mode == SubnetMode::observe ? ManagementKeyOptions{} : options.keys),
      port_(std::make_unique<KeyedPort>(
          options.leads ? std::make_unique<FencedPort>(std::move(port), options.leads) : std::move(port), map_, keys_)),
      exchange_(*port_, options.exchange),
      counter_exchange_(*port_, options.exchange.impatient()),
      table_exchange_(*port_, options.exchange.brief()) {
  for (MadExchange* exchange : {&exchange_, &counter_exchange_, &table_exchange_}) {
    exchange->on_unasked([this](const ReceivedMad& received) { take_trap(received); });
  }
}

Result<Sweep> InfinibandDriver::sweep(bool everything) {
  auto found = read_subnet(everything);
  if (found) found->changed = std::exchange(changed_, false);
  return found;
}

// What it changes of the map stays noted in changed_ until a caller was told.
Result<Sweep> InfinibandDriver::read_subnet(bool everything) {
  const bool direct = options_.mode == SubnetMode::direct;
  // A device that holds another key drops what is written without it: which one is found out first.
  const bool are_keys_known = !keys_.is_on() || swept_;
  SweepOptions options{.clear_changes = direct && are_keys_known, .exchange = options_.exchange};
  if (!everything && swept_) options.sign = direct ? ChangeSign::portStateChange : ChangeSign::portInfo;
  swept_ = false;
  SubnetSweep sweep(*port_, map_, options);
  sweep.on_unasked([this](const ReceivedMad& received) { take_trap(received); });
  const auto ran = sweep.run();
  std::uint64_t asked = sweep.counts().sent;
  bool changed = sweep.changed();
  swept_ = ran && !map_.blind;
  if (swept_ && options.sign != ChangeSign::everything) {
    EndPortRecheck end_ports(*port_, map_, options_.exchange);
    end_ports.on_unasked([this](const ReceivedMad& received) { take_trap(received); });
    if (auto read = end_ports.run(); !read) return std::unexpected(read.error());
    asked += end_ports.sent();
    changed = changed || end_ports.changed();
  }
  changed_ = changed_ || changed;
  topology_stale_ = topology_stale_ || changed;
  if (!ran) return std::unexpected(ran.error());
  if (auto found = find_keys(asked); !found) return std::unexpected(found.error());
  index_lids();
  Sweep found{.asked = asked, .blind = map_.blind};
  // One that was never seen is not named: the switch before it answered, and its cable is not known.
  for (const auto& device : map_.silent) {
    if (!device.guid.known() || std::ranges::find(found.silent, device.guid) != found.silent.end()) continue;
    found.silent.push_back(device.guid);
  }
  return found;
}

// Ports that were not asked before, and devices that did not take what was written, may hold another key.
Result<void> InfinibandDriver::find_keys(std::uint64_t& asked) {
  if (!keys_.is_on() || map_.blind) return {};
  for (const SilentDevice& device : map_.silent) {
    const SubnetNode* node = device.guid.known() ? map_.find(device.guid) : nullptr;
    for (std::size_t port = 0; node != nullptr && port < node->ports.size(); ++port) {
      keys_.forget({device.guid, static_cast<std::uint8_t>(port)});
    }
  }
  forgive_all();
  const std::uint64_t before = exchange_.counts().sent;
  auto found = KeyKeeper(exchange_, map_, keys_).find(false);
  asked += exchange_.counts().sent - before;
  return found;
}

Result<ManagementKeysReport> InfinibandDriver::keep_keys(std::uint64_t generation, bool releases) {
  if (!keys_.is_on() || options_.mode != SubnetMode::direct) return ManagementKeysReport{};
  if (auto allowed = may_write(); !allowed) return std::unexpected(allowed.error());
  keys_.want(generation, releases);
  return KeyKeeper(exchange_, map_, keys_).keep();
}

Result<DiscoveredFabric> InfinibandDriver::discover(bool everything) {
  auto swept = read_subnet(everything);
  if (!swept) return std::unexpected(swept.error());
  DiscoveredFabric found{
      .changed = topology_stale_ || !topology_, .asked = swept->asked, .silent = swept->silent, .blind = swept->blind};
  if (found.changed) {
    auto topology = to_topology(map_, options_.naming);
    if (!topology) return std::unexpected(topology.error());
    topology_ = std::make_shared<const Topology>(std::move(*topology));
    topology_stale_ = false;
  }
  found.topology = topology_;
  return found;
}

Result<std::optional<Sweep>> InfinibandDriver::recheck(std::span<const Guid> switches, std::span<const Guid> gone) {
  if (!swept_) return std::nullopt;
  PortRecheck recheck(*port_, map_, options_.exchange);
  recheck.on_unasked([this](const ReceivedMad& received) { take_trap(received); });
  auto enough = recheck.run(switches, gone);
  if (!enough) {
    changed_ = changed_ || recheck.changed();
    return std::unexpected(enough.error());
  }
  topology_stale_ = topology_stale_ || recheck.changed();
  changed_ = changed_ || recheck.changed();
  if (!*enough) return std::nullopt;  // the sweep that follows says what this one changed
  return Sweep{.changed = std::exchange(changed_, false), .asked = recheck.sent()};
}

LinkReading InfinibandDriver::read_link(Guid device, unsigned port) const {
  const SubnetNode* node = map_.find(device);
  if (node == nullptr || port >= node->ports.size()) return {};
  // The port is up, but no known device is behind it: its peer does not answer.
  if (node->ports[port].peer == kNoNode) return {.known = node->ports[port].read && !node->ports[port].info.link_up()};
  const SubnetPort& at = node->ports[port];
  const SubnetNode& peer = map_.nodes[at.peer];
  const auto active = [](const SubnetPort& end) { return !end.read || end.info.state == PortState::active; };
  return {.known = true,
          .up = true,
          .active = active(at) && active(peer.ports[at.peer_port]),
          .peer = peer.guid(),
          .peer_port = at.peer_port,
          .spec = node->link(port)};
}

Lid InfinibandDriver::read_lid(Guid device, unsigned port) const {
  const SubnetNode* node = map_.find(device);
  if (node == nullptr) return 0;
  const std::size_t at = node->is_switch() ? 0 : port;
  return at < node->ports.size() && node->ports[at].read ? node->ports[at].info.lid : Lid{0};
}

std::optional<PortTableLimits> InfinibandDriver::read_limits(PortRef port) const {
  const auto place = find_port(map_, port);
  if (!place) return std::nullopt;
  const SubnetPort& read = map_.nodes[place->node].ports[place->port];
  if (!read.read) return std::nullopt;
  PortTableLimits limits = limits_of(map_, *place);
  add_lane_limits(limits, map_, *place, read.info);
  return limits;
}

void InfinibandDriver::index_lids() {
  device_of_lid_.clear();
  for (const auto& node : map_.nodes) {
    if (!node.present) continue;
    for (const auto& port : node.ports) {
      if (port.read && port.info.lid != 0) device_of_lid_[port.info.lid] = node.guid();
      if (node.is_switch()) break;
    }
  }
}

void InfinibandDriver::take_trap(const ReceivedMad& received) {
  const MadHeader header = read_header(received.mad);
  if (header.attribute == Attribute::smInfo && header.method == MadMethod::get) return answer_sm_info(received);
  if (header.method != MadMethod::trap || header.attribute != Attribute::notice) return;
  const Notice notice = read_notice(attribute_bytes(received.mad));
  if (options_.mode == SubnetMode::direct) {
    Mad repress = received.mad;
    repress[3] = static_cast<std::uint8_t>(MadMethod::trapRepress);
    set_management_key(repress, 0);
    // TrapRepress has no answer, and a lost one is repeated: an error shows with the next request.
    (void)port_->send(MadAddress::to(received.source), repress, Milliseconds(0));
  }
  if (notice.generic && notice.trap == kTrapBadManagementKey) return note_wrong_key(notice);
  if (server_) server_->forward(attribute_bytes(received.mad), received.source);
  if (!notice.generic || (notice.trap != kTrapLinkStateChange && notice.trap != kTrapCapabilityChange)) return;
  if (observed_.size() > kMaxObservations) return;
  const auto device = device_of_lid_.find(notice.about_lid);
  if (observed_.size() == kMaxObservations || device == device_of_lid_.end()) {
    observed_.push_back({Observation::Kind::lost, Guid()});
    return;
  }
  observed_.push_back(
      {notice.trap == kTrapLinkStateChange ? Observation::Kind::linkStateChange : Observation::Kind::capabilityChange,
       device->second});
}

void InfinibandDriver::note_wrong_key(const Notice& notice) {
  if (observed_.size() >= kMaxObservations) return;
  const auto device = device_of_lid_.find(notice.issuer_lid), sender = device_of_lid_.find(notice.about_lid);
  if (device == device_of_lid_.end()) return;
  observed_.push_back({.kind = Observation::Kind::wrongKey,
                       .device = device->second,
                       .sender = sender == device_of_lid_.end() ? Guid() : sender->second});
}

SmInfo InfinibandDriver::own_sm_info() const {
  const SubnetNode& here = map_.nodes[map_.here];
  return {.guid = here.is_switch() ? here.guid() : here.ports[map_.here_port].guid,
          .key = options_.sm_key,
          .act_count = act_count_,
          .priority = options_.sm_priority,
          .state = leads() ? SmState::master : SmState::standby};
}

// Other subnet managers stay standby while this one answers; those with higher priority take over, which may_write()
// sees.
void InfinibandDriver::answer_sm_info(const ReceivedMad& received) {
  if (options_.mode != SubnetMode::direct || map_.here == kNoNode) return;
  ++act_count_;
  const Mad answer = sm_info_answer(received.mad, own_sm_info());
  const bool directed = read_header(received.mad).management_class == MadClass::subnetDirected;
  (void)port_->send(directed ? MadAddress::directed() : MadAddress::to(received.source), answer, Milliseconds(0));
}

Result<std::vector<Observation>> InfinibandDriver::observe(std::chrono::milliseconds wait) {
  // Datagrams that have arrived come first, without waiting.
  const TimePoint now = port_->now();
  const TimePoint until = observed_.empty() ? now + wait : now + Milliseconds(1);
  if (auto listened = exchange_.listen(until, true); !listened) return std::unexpected(listened.error());
  return std::exchange(observed_, {});
}

Result<void> InfinibandDriver::ensure_swept() {
  if (swept_) return {};
  auto found = discover(true);
  if (!found) return std::unexpected(found.error());
  return {};
}

// The next operation asks devices again that were silent.
void InfinibandDriver::forgive_all() {
  for (std::size_t n = 0; n < map_.nodes.size(); ++n) exchange_.forgive(n + 1);
}

Result<std::vector<TableReading>> InfinibandDriver::read_tables(const Topology& topology,
                                                                std::span<const SwitchId> switches, Lid top) {
  if (auto swept = ensure_swept(); !swept) return std::unexpected(swept.error());
  forgive_all();
  std::vector<TableReading> readings;
  for (const SwitchId sw : switches) {
    readings.push_back({sw, map_.find(topology.guid(sw)) != nullptr, {}});
    readings.back().ports.assign(top + std::size_t{1}, kNoPort);
  }
  std::vector<Lid> tops(readings.size(), 0);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (!readings[i].answered) continue;
    const std::uint32_t node = map_.by_guid.at(topology.guid(readings[i].sw));
    for (std::uint32_t block = 0; block <= top / kLftBlockEntries; ++block) {
      exchange_.submit(node + std::uint64_t{1}, MadAddress::directed(),
                       directed_smp(map_.nodes[node].route, MadMethod::get, Attribute::linearForwardingTable, block),
                       [&readings, i, block](const MadReply& reply) {
                         if (!reply.ok()) {
                           readings[i].answered = false;
                           return;
                         }
                         take_entries(readings[i].ports, block, read_lft_block(attribute_bytes(*reply.mad)));
                       });
    }
    // Packets for LIDs above LinearFDBTop are dropped, whatever the entries say.
    exchange_.submit(node + std::uint64_t{1}, MadAddress::directed(),
                     directed_smp(map_.nodes[node].route, MadMethod::get, Attribute::switchInfo, 0),
                     [this, &readings, &tops, i, node](const MadReply& reply) {
                       if (!reply.ok()) {
                         readings[i].answered = false;
                         return;
                       }
                       tops[i] = read_switch_info(attribute_bytes(*reply.mad)).linear_top;
                       map_.nodes[node].switch_info.linear_top = tops[i];
                     });
  }
  if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
  for (std::size_t i = 0; i < readings.size(); ++i) drop_above(readings[i].ports, tops[i]);
  return readings;
}

Result<std::vector<SwitchSight>> InfinibandDriver::look(const Topology& topology, std::span<const SwitchId> switches,
                                                        Lid top) {
  for (std::size_t n = 0; n < map_.nodes.size(); ++n) table_exchange_.forgive(n + 1);
  return SwitchLook(table_exchange_, map_, topology, top).run(switches);
}

Result<void> InfinibandDriver::may_write() {
  auto allowed = ask_to_write();
  // Whoever is in charge answers clients, takes what they register, and writes switches.
  if (!allowed && server_) {
    server_->publish(AdministeredSubnetPtr());
    server_->publish(MulticastTablesPtr());
    notices_.forget_all();
    multicast_.forget_all();
  }
  return allowed;
}

Result<void> InfinibandDriver::ask_to_write() {
  if (options_.mode == SubnetMode::observe) {
    return fail(ErrorKind::conflict, "ib.observeOnly", "the subnet is observed only; nothing is written",
                options_.naming.subnet, "switch it to direct mode");
  }
  if (auto swept = ensure_swept(); !swept) return swept;
  if (!leads()) return fail(ErrorKind::unavailable, "ib.notLeader", "another process may lead now: nothing is written");
  forgive_all();
  if (options_.mode == SubnetMode::beside) return {};
  Guid master;
  for (std::uint32_t n = 0; n < map_.nodes.size(); ++n) {
    const SubnetNode& node = map_.nodes[n];
    if (!node.present || n == map_.here) continue;
    for (std::size_t p = node.is_switch() ? 0 : 1; p < (node.is_switch() ? 1 : node.ports.size()); ++p) {
      if (!node.ports[p].read || !node.ports[p].info.is_sm()) continue;
      const DirectedRoute route = route_to_port(map_, n, static_cast<std::uint8_t>(p));
      exchange_.submit(n + std::uint64_t{1}, MadAddress::directed(),
                       directed_smp(route, MadMethod::get, Attribute::smInfo, 0),
                       [this, n, &master](const MadReply& reply) {
                         if (!reply.ok()) return;
                         if (read_sm_info(attribute_bytes(*reply.mad)).state == SmState::master) {
                           master = map_.nodes[n].guid();
                         }
                       });
    }
  }
  if (auto ran = exchange_.run(); !ran) return ran;
  if (!master.known()) return {};
  return fail(ErrorKind::conflict, "ib.otherMaster",
              "another subnet manager is master of this subnet; nothing is written", to_string(master),
              "stop it, or switch the subnet to observe or opensm mode");
}

Result<ProgramReport> InfinibandDriver::program(const Topology& topology, const ForwardingDelta& delta) {
  if (auto allowed = may_write(); !allowed) return std::unexpected(allowed.error());
  LftWriterOptions writing = options_.writing;
  writing.another_writes = another_writes_;
  writing.has_news = [this] {
    return std::ranges::any_of(observed_, [](const Observation& one) {
      return one.kind == Observation::Kind::linkStateChange || one.kind == Observation::Kind::lost;
    });
  };
  return LftWriter(exchange_, map_, topology, delta, writing).run();
}

Result<BringUpReport> InfinibandDriver::bring_up(std::span<const LidAssignment> lids, Lid sm_lid,
                                                 std::span<const PortRef> unused) {
  if (auto allowed = may_write(); !allowed) return std::unexpected(allowed.error());
  if (sm_lid == 0 && map_.here != kNoNode) {
    const SubnetNode& here = map_.nodes[map_.here];
    const std::uint8_t port = here.is_switch() ? 0 : map_.here_port;
    sm_lid = read_lid(here.guid(), port);
    for (const LidAssignment& wanted : lids) {
      if (wanted.device == here.guid() && wanted.port == port) sm_lid = wanted.lid;
    }
  }
  const std::uint64_t before = exchange_.counts().sent;
  for (const LidAssignment& wanted : lids) {
    const SubnetNode* node = map_.find(wanted.device);
    if (node == nullptr || wanted.port >= node->ports.size()) continue;
    const SubnetPort& port = node->ports[wanted.port];
    if (port.info.lid != wanted.lid || port.info.sm_lid != sm_lid) notices_.forget(port.guid);
  }
  PortWriter writer(exchange_, map_);
  if (auto set = writer.set_lids(lids, sm_lid); !set) return std::unexpected(set.error());
  if (auto activated = writer.activate_links(unused); !activated) return std::unexpected(activated.error());
  index_lids();
  BringUpReport report = writer.take_report();
  report.asked = exchange_.counts().sent - before;
  return report;
}

Result<AdministrationReport> InfinibandDriver::administer(const AdministrationBasis& basis) {
  AdministrationReport report;
  if (server_ == nullptr || options_.mode != SubnetMode::direct) return report;
  if (auto allowed = may_write(); !allowed) return std::unexpected(allowed.error());
  if (map_.here == kNoNode) return report;
  const SubnetNode& here = map_.nodes[map_.here];
  const auto subnet = std::make_shared<const AdministeredSubnet>(
      administered_devices(map_, basis.routing.tables.scope().topology()),
      AdministeredSubnet::Manager{.lid = read_lid(here.guid(), here.is_switch() ? std::uint8_t{0} : map_.here_port),
                                  .info = own_sm_info(),
                                  .key = server_->key()},
      basis.routing, basis.partitions, basis.tables, basis.avoided);
  server_->publish(subnet);
  report.devices = subnet->nodes().size();
  report.end_ports = subnet->end_ports().size();
  if (auto sent = notices_.send(exchange_, map_, *subnet, report); !sent) return std::unexpected(sent.error());
  return report;
}

Result<MulticastReport> InfinibandDriver::keep_multicast(bool verify) {
  MulticastReport report;
  const AdministeredSubnetPtr subnet = server_ ? server_->subnet() : nullptr;
  if (subnet == nullptr) return report;
  const AdministrationServer::Multicast multicast = server_->multicast();
  if (multicast.members == nullptr) return report;
  if (auto allowed = may_write(); !allowed) return std::unexpected(allowed.error());
  for (std::size_t n = 0; n < map_.nodes.size(); ++n) table_exchange_.forgive(n + 1);
  report.revision = multicast.revision;
  if (auto kept = multicast_.keep(table_exchange_, map_, subnet, *multicast.members, verify, report); !kept) {
    return std::unexpected(kept.error());
  }
  server_->publish(multicast_.tables());
  return report;
}

std::optional<AdministrationCounts> InfinibandDriver::administration() const {
  return server_ ? std::optional(server_->counts()) : std::nullopt;
}

Result<PortTablesReport> InfinibandDriver::program_ports(std::span<const PortTables> wanted) {
  if (auto allowed = may_write(); !allowed) return std::unexpected(allowed.error());
  for (std::size_t n = 0; n < map_.nodes.size(); ++n) table_exchange_.forgive(n + 1);
  return PortTableWriter(table_exchange_, map_, wanted, options_.tables).run();
}

Result<std::vector<PortTablesReading>> InfinibandDriver::read_port_tables(std::span<const PortRef> ports) {
  if (auto swept = ensure_swept(); !swept) return std::unexpected(swept.error());
  for (std::size_t n = 0; n < map_.nodes.size(); ++n) table_exchange_.forgive(n + 1);
  return PortTableReader(table_exchange_, map_, ports).run();
}

Result<std::vector<CounterReading>> InfinibandDriver::read_counters(std::span<const PortRef> ports) {
  if (auto swept = ensure_swept(); !swept) return std::unexpected(swept.error());
  for (std::size_t n = 0; n < map_.nodes.size(); ++n) counter_exchange_.forgive(n + 1);
  return CounterReader(counter_exchange_, map_, counter_abilities_, options_.counters).read(ports);
}

}  // namespace railweave::fabric::infiniband
