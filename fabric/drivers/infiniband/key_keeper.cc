#include "fabric/drivers/infiniband/key_keeper.h"

#include <algorithm>

#include "fabric/drivers/infiniband/mad/smp.h"
#include "fabric/drivers/infiniband/port_writer.h"

namespace railweave::fabric::infiniband {

namespace {

// Port 0 of PortInfo is a switch's management port; adapters are asked by number.
Mad port_info_smp(const SubnetMap& map, std::uint32_t node, PortRef port, MadMethod method, std::uint64_t key) {
  return directed_smp(route_to_port(map, node, port.port), method, Attribute::portInfo, port.port, key);
}

}  // namespace

KeyKeeper::KeyKeeper(MadExchange& exchange, const SubnetMap& map, KeyBook& book)
    : exchange_(exchange), map_(map), book_(book) {}

void KeyKeeper::list(bool all) {
  ports_.clear();
  const auto add = [this, all](std::uint32_t node, std::size_t port) {
    const PortRef ref{map_.nodes[node].guid(), static_cast<std::uint8_t>(port)};
    if (!all && book_.is_found(ref)) return;
    ports_.push_back({.node = node, .ref = ref});
  };
  for (std::uint32_t n = 0; n < map_.nodes.size(); ++n) {
    const SubnetNode& node = map_.nodes[n];
    if (!node.present) continue;
    if (node.is_switch()) {
      add(n, 0);
      continue;
    }
    for (std::size_t port = 1; port < node.ports.size(); ++port) {
      if (node.ports[port].peer != kNoNode || (n == map_.here && port == map_.here_port)) add(n, port);
    }
  }
}

Result<void> KeyKeeper::find(bool all) {
  list(all);
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    // A port that has no key tells so whatever is shown; one that has, to who shows it.
    ask(i, book_.likely(ports_[i].ref.device));
  }
  return exchange_.run();
}

void KeyKeeper::ask(std::size_t index, std::uint64_t key) {
  const Port& port = ports_[index];
  exchange_.submit(port.node + std::uint64_t{1}, MadAddress::directed(),
                   port_info_smp(map_, port.node, port.ref, MadMethod::get, key),
                   [this, index, key](const MadReply& reply) {
                     if (reply.ok()) took(index, key, attribute_bytes(*reply.mad));
                   });
}

void KeyKeeper::took(std::size_t index, std::uint64_t shown, AttributeBytes data) {
  Port& port = ports_[index];
  std::copy(data.begin(), data.end(), port.bytes.begin());
  port.present = read_port_key(data);
  const std::uint64_t told = port.present.key;
  const bool is_hidden = told == 0 && port.present.protection != 0;
  if (port.candidates.empty() && (is_hidden || (told != 0 && told != shown))) {
    port.candidates = book_.candidates(port.ref.device);
  }
  if (is_hidden) {
    if (++port.tried < port.candidates.size()) return ask(index, port.candidates[port.tried]);
    port.finding = Finding::locked;
    return;
  }
  const bool is_ours = told == shown || std::ranges::find(port.candidates, told) != port.candidates.end();
  port.finding = told == 0 ? Finding::none : is_ours ? Finding::known : Finding::readable;
  book_.found(port.ref, told);
}

PortKey KeyKeeper::wanted(const Port& port) const {
  const std::uint64_t key = book_.wanted(port.ref.device);
  if (key == 0) return {};
  return {.key = key, .protection = PortKey::kHidden, .lease_s = book_.lease_s()};
}

void KeyKeeper::write(std::size_t index) {
  Port& port = ports_[index];
  const std::uint64_t held = port.present.key;
  const PortKey wants = wanted(port);
  Mad set = port_info_smp(map_, port.node, port.ref, MadMethod::set, held);
  auto value = port_info_to_set(port.bytes, PortSetting{});
  write_port_key(value, wants);
  std::ranges::copy(value, attribute_space(set).begin());
  port.was_written = true;
  port.finding = Finding::silent;
  // Read back whatever the answer is: it may have been lost, and may say what was asked instead of what is kept.
  exchange_.submit(port.node + std::uint64_t{1}, MadAddress::directed(), set,
                   [this, index, held, wants](const MadReply&) {
                     ports_[index].candidates = {wants.key, held};
                     ports_[index].tried = 0;
                     ask(index, wants.key);
                   });
}

void KeyKeeper::count(const Port& port, ManagementKeysReport& report) const {
  ++report.ports;
  if (port.finding == Finding::silent) return report.silent.push_back(port.ref);
  if (port.finding == Finding::locked) return report.locked.push_back(port.ref);
  if (port.present != wanted(port)) return report.without.push_back(port.ref);
  ++report.held;
  if (port.was_written) ++report.changed;
}

Result<ManagementKeysReport> KeyKeeper::keep() {
  ManagementKeysReport report;
  if (auto found = find(true); !found) return std::unexpected(found.error());
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const Port& port = ports_[i];
    if (port.finding == Finding::silent || port.finding == Finding::locked || port.present == wanted(port)) continue;
    if (port.finding == Finding::readable) report.replaced.push_back(port.ref);
    write(i);
  }
  if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
  for (const Port& port : ports_) count(port, report);
  return report;
}

}  // namespace railweave::fabric::infiniband
