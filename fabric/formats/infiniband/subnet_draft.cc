#include "fabric/formats/infiniband/subnet_draft.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/utf8.h"
#include "fabric/formats/infiniband/host_names.h"
#include "fabric/formats/infiniband/network_parts.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr unsigned kLastUnicastLid = 0xbfff;

// Objects of a finding that concerns many things.
void add_object(std::vector<std::string>& objects, std::string object) {
  if (objects.size() < kMaxFindingObjects) objects.push_back(std::move(object));
}

}  // namespace

std::uint32_t SubnetDraft::add_device(const Device& device) {
  devices_.push_back(device);
  return static_cast<std::uint32_t>(devices_.size() - 1);
}

void SubnetDraft::add_cable_end(const CableEnd& end) {
  for (const auto& [device, port] : {std::pair(end.device, end.port), std::pair(end.peer, end.peer_port)}) {
    auto& highest = devices_[device].highest_port_named;
    highest = std::max(highest, port);
  }
  cables_.push_back(end);
}

Error SubnetDraft::over_limit_error(const ReadOptions& options) {
  return {ErrorKind::tooLarge,
          "fabric.tooLarge",
          fmt::format("more than {} devices or {} lines about ports in one file", kMaxDevices, kMaxCableEnds),
          options.source,
          {}};
}

// The work of move_into, step by step.
class SubnetDraft::Assembly {
 public:
  Assembly(SubnetDraft& draft, const ReadOptions& options, TopologyBuilder& builder)
      : draft_(draft), options_(options), builder_(builder) {}

  Result<void> run() {
    if (auto indexed = index_ports(); !indexed) return indexed;
    complete_placeholders();
    add_switches();
    add_adapters();
    set_adapter_ports();
    declare_cables();
    report();
    return {};
  }

 private:
  [[nodiscard]] std::size_t slot(std::uint32_t device, unsigned port) const {
    return port >= 1 && port <= draft_.devices_[device].ports ? first_port_[device] + port - 1 : claims_.size();
  }
  // What the port's own device says of it, else null.
  [[nodiscard]] const CableEnd* claim(std::uint32_t device, unsigned port) const {
    const std::size_t at = slot(device, port);
    return at < claims_.size() && claims_[at] != kNone ? &draft_.cables_[claims_[at]] : nullptr;
  }

  Result<void> index_ports() {
    for (auto& device : draft_.devices_) {
      if (!device.has_section) device.ports = std::max(device.highest_port_named, 1U);
      first_port_.push_back(port_count_);
      port_count_ += device.ports;
    }
    if (port_count_ > TopologyBuilder::kMaxPorts) {
      return fail(
          ErrorKind::tooLarge, "fabric.tooLarge",
          fmt::format("the devices have {} ports; at most {} are supported", port_count_, TopologyBuilder::kMaxPorts),
          options_.source);
    }
    claims_.assign(port_count_, kNone);
    for (std::uint32_t c = 0; c < draft_.cables_.size(); ++c) {
      const std::size_t at = slot(draft_.cables_[c].device, draft_.cables_[c].port);
      if (at < claims_.size() && claims_[at] == kNone) claims_[at] = c;
    }
    return {};
  }

  // A device that is only named as a peer: where a dump was cut off, or came from a device that did not answer.
  void complete_placeholders() {
    std::vector<std::string> objects;
    std::size_t count = 0;
    for (const auto& device : draft_.devices_) {
      if (device.has_section) continue;
      ++count;
      add_object(objects, to_string(device.guid));
    }
    if (count == 0) return;
    builder_.add_finding({"deviceWithoutSection", Severity::warning,
                          fmt::format("{}{} named as the other end of links but not described; what the links say is "
                                      "taken. Is the file complete?",
                                      count, count == 1 ? " device is" : " devices are"),
                          std::move(objects)});
  }

  std::string printable(std::string_view text) {
    text = utf8_prefix(text, kMaxNameBytes);
    if (is_clean_name(text)) return std::string(text);
    const std::string escaped = escaped_name(text);
    std::string clean(utf8_prefix(escaped, kMaxNameBytes));
    add_object(unprintable_, clean);
    return clean;
  }

  Lid unicast(unsigned lid, std::uint32_t device, unsigned port) {
    if (lid <= kLastUnicastLid) return static_cast<Lid>(lid);
    add_object(bad_lids_, fmt::format("{}/{}", to_string(draft_.devices_[device].guid), port));
    return 0;
  }

  // The subnet that each device is in.
  std::vector<SubnetId> subnets() {
    std::vector<NamedSwitch> switches;
    for (std::uint32_t d = 0; d < draft_.devices_.size(); ++d) {
      const Device& device = draft_.devices_[d];
      if (device.type == NetlistDevice::network_switch) switches.push_back({d, switch_name(device.description)});
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> cables;
    cables.reserve(draft_.cables_.size());
    for (const auto& cable : draft_.cables_) cables.emplace_back(cable.device, cable.peer);
    const auto networks = storage_networks(draft_.devices_.size(), switches, cables);
    std::vector<SubnetId> made{builder_.subnet(options_.subnet, options_.subnet_kind)};
    std::vector<SubnetId> subnets;
    for (const std::uint32_t network : networks) {
      while (made.size() <= network) {
        const std::string number = made.size() == 1 ? "" : fmt::format("-{}", made.size());
        made.push_back(builder_.subnet(options_.subnet + "-storage" + number, SubnetKind::storage));
      }
      subnets.push_back(made[network]);
    }
    return subnets;
  }

  void add_switches() {
    const auto subnet_of = subnets();
    switches_.resize(draft_.devices_.size());
    for (std::uint32_t d = 0; d < draft_.devices_.size(); ++d) {
      const Device& device = draft_.devices_[d];
      if (device.type != NetlistDevice::network_switch) continue;
      const std::string description = printable(device.description);
      const std::string name = switch_name(description);
      if (name.empty()) alike_switches_[description].push_back(to_string(device.guid));
      switches_[d] = builder_.add_switch({.guid = device.guid,
                                          .name = name,
                                          .description = description,
                                          .ports = device.ports,
                                          .subnet = subnet_of[d],
                                          .rack = {},
                                          .group = {},
                                          .lid = unicast(device.lid, d, 0),
                                          .lmc = static_cast<std::uint8_t>(device.lmc)});
    }
  }

  void add_adapters() {
    hcas_.resize(draft_.devices_.size());
    // In GUID order, so that it does not depend on the file which of two adapters that claim the same name keeps it.
    std::vector<std::uint32_t> order;
    for (std::uint32_t d = 0; d < draft_.devices_.size(); ++d) {
      if (draft_.devices_[d].type != NetlistDevice::network_switch) order.push_back(d);
    }
    std::ranges::stable_sort(order, {}, [&](auto d) { return draft_.devices_[d].guid; });
    std::map<std::pair<std::string, std::string>, Guid> taken;
    for (const auto d : order) {
      const Device& device = draft_.devices_[d];
      const std::string description = printable(device.description);
      auto identity = identify_adapter(description);
      HcaSpec spec{.guid = device.guid,
                   .kind = HcaKind::host,
                   .host = {},
                   .device = {},
                   .description = description,
                   .ports = device.ports};
      if (device.type == NetlistDevice::router) {
        spec.kind = HcaKind::router;
      } else if (identity.kind == AdapterIdentity::Kind::aggregation) {
        spec.kind = HcaKind::aggregation;
      } else {
        spec.device = identity.device;
        if (identity.kind == AdapterIdentity::Kind::named && !identity.device.empty()) {
          const auto [at, is_new] =
              taken.try_emplace({std::string(identity.host), std::string(identity.device)}, device.guid);
          if (!is_new) {
            builder_.add_finding({"duplicateDescription",
                                  Severity::warning,
                                  fmt::format("the adapters {} and {} are both described as '{}'; the second is taken "
                                              "for a machine of its own that was not given a name",
                                              to_string(at->second), to_string(device.guid), description),
                                  {to_string(at->second), to_string(device.guid)}});
            identity.kind = AdapterIdentity::Kind::generic;
          }
        }
        if (identity.kind == AdapterIdentity::Kind::generic) {
          alike_adapters_[description].push_back(to_string(device.guid));
        }
        spec.host = identity.kind == AdapterIdentity::Kind::named
                        ? builder_.host(identity.host, guess_host_kind(identity.host))
                        : builder_.host(to_string(device.guid), HostKind::unnamed);
      }
      hcas_[d] = builder_.add_hca(spec);
    }
  }

  void set_adapter_ports() {
    std::vector<HcaPortSpec> ports(port_count_);
    // What the other end says first; the adapter's own word overrides it.
    for (const auto& cable : draft_.cables_) {
      const std::size_t at = slot(cable.peer, cable.peer_port);
      if (at >= ports.size() || draft_.devices_[cable.peer].type == NetlistDevice::network_switch) continue;
      ports[at] = {cable.peer_guid, unicast(cable.peer_lid, cable.peer, cable.peer_port), 0, {}};
    }
    for (std::uint32_t d = 0; d < draft_.devices_.size(); ++d) {
      if (!hcas_[d].valid()) continue;
      for (unsigned port = 1; port <= draft_.devices_[d].ports; ++port) {
        HcaPortSpec spec = ports[first_port_[d] + port - 1];
        if (const CableEnd* own = claim(d, port)) {
          if (own->guid.known()) spec.guid = own->guid;
          if (own->lid != 0) spec.lid = unicast(own->lid, d, port);
          spec.lmc = static_cast<std::uint8_t>(own->lmc);
        }
        builder_.set_port(hcas_[d], port, spec);
      }
    }
  }

  [[nodiscard]] fabric::CableEnd end(std::uint32_t device, unsigned port) const {
    if (switches_[device].valid()) return {switches_[device], port};
    return {hcas_[device], port};
  }

  void declare_cables() {
    for (const auto& cable : draft_.cables_) {
      const auto from = end(cable.device, cable.port);
      const auto to = end(cable.peer, cable.peer_port);
      LinkSpec link = cable.link;
      if (!draft_.devices_[cable.peer].has_section) {
        builder_.connect(from, to, link);  // its silence is reported once, not link by link
        continue;
      }
      // What this end leaves open, the other end may know.
      const CableEnd* back = claim(cable.peer, cable.peer_port);
      if (back != nullptr && back->peer == cable.device && back->peer_port == cable.port) {
        const std::uint16_t width = link.width != 0 ? link.width : back->link.width;
        const LinkSpeed speed = link.speed != LinkSpeed::unknown ? link.speed : back->link.speed;
        link = infiniband_link(width, speed);
      }
      builder_.declare_peer(from, to, link);
    }
  }

  // What no one was given a name: told apart by GUIDs alone.
  void report_alike(const std::map<std::string, std::vector<std::string>>& alike, const std::string& what,
                    const std::string& then) {
    for (const auto& [description, guids] : alike) {
      if (guids.size() < 2) continue;
      std::vector<std::string> objects;
      for (const auto& guid : guids) add_object(objects, guid);
      builder_.add_finding({"equalDescriptions", Severity::warning,
                            fmt::format("{} {} are all described as '{}', {}", guids.size(), what, description, then),
                            std::move(objects)});
    }
  }

  void report() {
    report_alike(
        alike_adapters_, "adapters",
        "which names no machine: each counts as a machine of its own; give them node descriptions, as rdma-ndd does");
    report_alike(alike_switches_, "switches",
                 "which names none of them: they are called by their GUIDs; give them node descriptions");
    if (!unprintable_.empty()) {
      builder_.add_finding({"unprintableName", Severity::warning,
                            "descriptions with control characters or invalid UTF-8, written as \\xNN here",
                            std::move(unprintable_)});
    }
    if (!bad_lids_.empty()) {
      builder_.add_finding({"lidNotUnicast", Severity::info,
                            "ports whose LID is above 49151, which is no unicast LID; taken as not assigned",
                            std::move(bad_lids_)});
    }
  }

  SubnetDraft& draft_;
  const ReadOptions& options_;
  TopologyBuilder& builder_;
  std::size_t port_count_ = 0;
  std::vector<std::size_t> first_port_;  // of each device, into claims_
  std::vector<std::uint32_t> claims_;    // of each port: the cable that its own device names first
  std::vector<SwitchDraft> switches_;    // by device; none for adapters
  std::vector<HcaDraft> hcas_;           // by device; none for switches
  std::vector<std::string> unprintable_, bad_lids_;
  std::map<std::string, std::vector<std::string>> alike_adapters_, alike_switches_;  // GUIDs by description
};

Result<void> SubnetDraft::move_into(const ReadOptions& options, TopologyBuilder& builder) && {
  return Assembly(*this, options, builder).run();
}

}  // namespace railweave::fabric
