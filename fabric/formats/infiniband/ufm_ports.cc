#include "fabric/formats/infiniband/ufm_ports.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/formats/infiniband/link_text.h"
#include "fabric/formats/infiniband/subnet_draft.h"
#include "fabric/formats/infiniband/ufm_port_name.h"
#include "fabric/formats/text/json_reader.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {
namespace {

constexpr unsigned kMaxPortLid = 0xffff;

// The fields of one port that count.
struct ListedPort {
  std::string name, kind, system, node, state, speed, width, peer, lid;
};

class UfmPortsReader {
 public:
  UfmPortsReader(std::string_view text, const ReadOptions& options, TopologyBuilder& builder)
      : json_(text, options.source), options_(options), builder_(builder) {}

  Result<void> read() {
    const bool ok = json_.array([&] {
      ++rows_;
      if (json_.peek() != '{') {
        unnamed_.add(fmt::format("port {} of the list", rows_));
        return json_.skip_value();
      }
      ListedPort port;
      if (!read_port(port)) return false;
      add(port);
      return !draft_.over_limit() || json_.too_large("more ports than are supported");
    });
    if (!ok || !json_.end()) return std::unexpected(json_.error());
    if (draft_.device_count() == 0) {
      return fail(ErrorKind::malformed, "ufm.noPorts", "no port has a name such as 248a0703008a850b_1",
                  location_text(options_.source, 1, 1), "is it the answer to GET /ufmRest/resources/ports?");
    }
    join_ends();
    tell("portNotNamed", unnamed_, " ports have no name that tells a GUID and a number; they are left out");
    tell("peerNotFound", lost_, " ports lead to a port that is not in the list; their links are left out");
    return std::move(draft_).move_into(options_, builder_);
  }

 private:
  struct Left {
    std::vector<std::string> shown;
    std::size_t count = 0;

    void add(const std::string& what) {
      if (++count <= kMaxFindingObjects) shown.push_back(escaped_name(what));
    }
  };
  struct Cable {
    std::uint32_t device = 0;
    bool of_switch = false;
    UfmPortName at, peer;
    unsigned lid = 0;
    LinkSpec link;
  };

  bool read_port(ListedPort& port) {
    return json_.entries([&](std::string_view key) {
      std::string* text = text_of(port, key);
      if (text == nullptr) return json_.skip_value();
      if (json_.peek() == '"') return json_.string(*text);
      std::uint64_t number = 0;
      if (key != "lid" || json_.peek() < '0' || json_.peek() > '9') return json_.skip_value();  // null
      const bool ok = json_.whole_number(number, UINT32_MAX);
      *text = std::to_string(number);
      return ok;
    });
  }

  static std::string* text_of(ListedPort& port, std::string_view key) {
    const std::pair<std::string_view, std::string*> fields[] = {{"name", &port.name},
                                                                {"description", &port.kind},
                                                                {"system_name", &port.system},
                                                                {"node_description", &port.node},
                                                                {"physical_state", &port.state},
                                                                {"active_speed", &port.speed},
                                                                {"active_width", &port.width},
                                                                {"peer", &port.peer},
                                                                {"lid", &port.lid}};
    const auto found = std::ranges::find(fields, key, &std::pair<std::string_view, std::string*>::first);
    return found == std::ranges::end(fields) ? nullptr : found->second;
  }

  void add(const ListedPort& port) {
    const auto at = parse_ufm_port_name(port.name);
    if (!at) return unnamed_.add(port.name.empty() ? fmt::format("port {} of the list", rows_) : port.name);
    const bool of_switch = port.kind.find("Switch") != std::string::npos;
    const std::uint32_t device = device_of(at->guid, port, of_switch);
    draft_.device(device).ports = std::max(draft_.device(device).ports, at->number);
    const unsigned lid = whole_number<unsigned>(port.lid, kMaxPortLid).value_or(0);
    if (of_switch && lid != 0) draft_.device(device).lid = lid;
    if (port.state != "Link Up" || port.peer.empty() || port.peer == "N/A") return;
    const auto peer = parse_ufm_port_name(port.peer);
    if (!peer) return lost_.add(port.name);
    cables_.push_back(
        {device, of_switch, *at, *peer, lid,
         infiniband_link(width_of_text(port.width), parse_link_speed(port.speed).value_or(LinkSpeed::unknown))});
  }

  // A switch is called by its system, as UFM puts the port behind a switch's description.
  std::uint32_t device_of(Guid guid, const ListedPort& port, bool of_switch) {
    const auto [at, is_new] = by_guid_.try_emplace(guid, static_cast<std::uint32_t>(draft_.device_count()));
    if (!is_new) return at->second;
    const bool router = port.kind.find("Router") != std::string::npos;
    // Drafts keep views.
    const std::string& name = names_.emplace_back(of_switch || port.node.empty() ? port.system : port.node);
    draft_.add_device({.type = of_switch ? NetlistDevice::network_switch
                               : router  ? NetlistDevice::router
                                         : NetlistDevice::adapter,
                       .guid = guid,
                       .ports = 1,
                       .description = name,
                       .has_section = true});
    return at->second;
  }

  void join_ends() {
    for (const Cable& cable : cables_) {
      const auto peer = by_guid_.find(cable.peer.guid);
      if (peer == by_guid_.end()) {
        lost_.add(fmt::format("{}_{}", to_string(cable.at.guid), cable.at.number));
        continue;
      }
      auto& drafted = draft_.device(peer->second);
      drafted.ports = std::max(drafted.ports, cable.peer.number);
      draft_.add_cable_end({.device = cable.device,
                            .port = cable.at.number,
                            .peer = peer->second,
                            .peer_port = cable.peer.number,
                            .guid = cable.of_switch ? Guid() : cable.at.guid,
                            .peer_guid = {},
                            .lid = cable.of_switch ? 0 : cable.lid,
                            .lmc = 0,
                            .peer_lid = 0,
                            .link = cable.link});
    }
  }

  void tell(const char* code, Left& left, const char* what) {
    if (left.count == 0) return;
    builder_.add_finding(
        {code, Severity::warning, fmt::format("{}: {}{}", options_.source, left.count, what), std::move(left.shown)});
  }

  JsonReader json_;
  const ReadOptions& options_;
  TopologyBuilder& builder_;
  SubnetDraft draft_;
  std::unordered_map<Guid, std::uint32_t> by_guid_;
  std::deque<std::string> names_;
  std::vector<Cable> cables_;
  std::size_t rows_ = 0;
  Left unnamed_, lost_;
};

}  // namespace

Result<void> read_ufm_ports(std::string_view text, const ReadOptions& options, TopologyBuilder& builder) {
  return UfmPortsReader(text, options, builder).read();
}

}  // namespace railweave::fabric
