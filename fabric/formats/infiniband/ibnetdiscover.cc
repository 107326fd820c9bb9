#include "fabric/formats/infiniband/ibnetdiscover.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>

#include <fmt/core.h>

#include "fabric/formats/infiniband/netlist_line.h"
#include "fabric/formats/infiniband/subnet_draft.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

struct NodeId {
  NetlistDevice type;
  Guid guid;
};

// "S-2c5eab0300b87b40": the type and the GUID.
std::optional<NodeId> parse_node_id(std::string_view id) {
  if (id.size() < 3 || id[1] != '-') return std::nullopt;
  const auto guid = parse_guid(id.substr(2));
  if (!guid) return std::nullopt;
  switch (id[0]) {
    case 'S':
      return NodeId{NetlistDevice::network_switch, *guid};
    case 'H':
      return NodeId{NetlistDevice::adapter, *guid};
    case 'R':
      return NodeId{NetlistDevice::router, *guid};
    default:
      return std::nullopt;
  }
}

// "vendid=0x2c9", and the headings of grouped output.
bool is_passed_over(std::string_view line) {
  static constexpr std::array<std::string_view, 3> kHeadings{"Chassis", "Hostname:", "Non-Chassis"};
  if (std::ranges::any_of(kHeadings, [&](auto heading) { return line.starts_with(heading); })) return true;
  const auto equals = line.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::ranges::all_of(line.substr(0, equals), [](char c) { return c >= 'a' && c <= 'z'; });
}

class IbnetdiscoverReader {
 public:
  IbnetdiscoverReader(const ReadOptions& options, TopologyBuilder& builder)
      : options_(options), builder_(builder), unreadable_(options, builder) {}

  Result<void> read(std::string_view text) {
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
      line_ = lines.number();
      read_line(line);
      if (unreadable_.too_many()) return std::unexpected(unreadable_.unreadable_error(kFormat));
      if (draft_.over_limit()) return std::unexpected(SubnetDraft::over_limit_error(options_));
    }
    if (draft_.device_count() == 0) return std::unexpected(unreadable_.unreadable_error(kFormat));
    if (left_out_ > readable_) return std::unexpected(mostly_unreadable());
    unreadable_.finish();
    return std::move(draft_).move_into(options_, builder_);
  }

 private:
  static constexpr std::string_view kFormat = "output of ibnetdiscover, such as 'Switch 36 \"S-...\"'";

  void read_line(std::string_view line) {
    LineCursor start(line);
    start.skip_blanks();
    const std::size_t indent = start.column() - 1;
    line = start.rest();
    if (line.empty() || line.front() == '#') return;
    if (line.size() > kMaxLineBytes) {
      unreadable_.add(line_, kMaxLineBytes, fmt::format("a line of at most {} bytes", kMaxLineBytes));
    } else if (line.front() == '[') {
      (read_port(line, indent) ? readable_ : left_out_) += 1;
    } else if (is_netlist_header(line)) {
      begun_ = true;
      (read_header(line, indent) ? readable_ : left_out_) += 1;
    } else if (!is_passed_over(line)) {
      if (begun_) ++left_out_;  // what stands before the first device is a banner
      unreadable_.add(line_, indent + 1,
                      "a device ('Switch 36 \"S-...\"'), a port ('[1] \"H-...\"[1]') or 'vendid=...'");
    }
  }

  // A fabric of which half is missing would look whole: whatever is routed or placed on it is wrong.
  [[nodiscard]] Error mostly_unreadable() const {
    return {ErrorKind::malformed, "input.unreadable",
            fmt::format("{} of {} lines about devices and ports cannot be read as {}", left_out_, left_out_ + readable_,
                        kFormat),
            location_text(options_.source, 1, 1),
            "was the output copied whole, and not through a tool that changes it?"};
  }

  // False: it cannot be read.
  bool read_header(std::string_view line, std::size_t indent) {
    current_ = kNone;  // the ports of a device that cannot be read are left out with it, without a word on each
    orphans_reported_ = true;
    const auto header = parse_netlist_header(line);
    if (!header) {
      unreadable_.add(line_, indent + header.error().column, header.error().what);
      return false;
    }
    const auto id = parse_node_id(header->id);
    if (!id || id->type != header->type) {
      unreadable_.add(line_, indent + line.find('"') + 1,
                      "an id such as \"S-2c5eab0300b87b40\" (H- for Ca, R- for Rt)");
      return false;
    }
    if (header->remark.broken_quote) {
      unreadable_.add(line_, line.size(), "a quote that ends the description; the description is left out");
    }
    current_ = device(*id);
    auto& device = draft_.device(current_);
    if (device.has_section) {
      builder_.add_finding(
          {"duplicateSection",
           Severity::warning,
           fmt::format("{}: the device {} was described before; the two descriptions are taken together",
                       location_text(options_.source, line_, indent + 1), to_string(id->guid)),
           {to_string(id->guid)}});
    }
    device.has_section = true;
    device.ports = std::max(device.ports, header->ports);
    if (header->remark.description) device.description = *header->remark.description;
    if (id->type == NetlistDevice::network_switch) {
      device.lid = header->remark.lid.value_or(0);
      device.lmc = header->remark.lmc.value_or(0);
    }
    return true;
  }

  bool read_port(std::string_view line, std::size_t indent) {
    if (current_ == kNone) {
      if (!orphans_reported_) unreadable_.add(line_, indent + 1, "a device before its first port");
      orphans_reported_ = true;
      return false;
    }
    const auto port = parse_netlist_port(line);
    if (!port) {
      unreadable_.add(line_, indent + port.error().column, port.error().what);
      return false;
    }
    const auto id = parse_node_id(port->peer_id);
    if (!id) {
      unreadable_.add(line_, indent + line.find('"') + 1, "an id such as \"S-2c5eab0300b87b40\"");
      return false;
    }
    const std::uint32_t peer = device(*id);
    auto& peer_device = draft_.device(peer);
    if (!peer_device.has_section) {  // until its own section says better
      if (port->remark.description) peer_device.description = *port->remark.description;
      if (id->type == NetlistDevice::network_switch) peer_device.lid = port->remark.lid.value_or(0);
    }
    draft_.add_cable_end({.device = current_,
                          .port = port->port,
                          .peer = peer,
                          .peer_port = port->peer_port,
                          .guid = port->guid,
                          .peer_guid = port->peer_guid,
                          .lid = port->remark.own_lid.value_or(0),
                          .lmc = port->remark.own_lmc.value_or(0),
                          .peer_lid = port->remark.lid.value_or(0),
                          .link = port->remark.link});
    return true;
  }

  std::uint32_t device(NodeId id) {
    auto& index = devices_[static_cast<std::size_t>(id.type)];
    const auto [at, is_new] = index.try_emplace(id.guid, static_cast<std::uint32_t>(draft_.device_count()));
    if (is_new) draft_.add_device({.type = id.type, .guid = id.guid});
    return at->second;
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;
  const ReadOptions& options_;
  TopologyBuilder& builder_;
  UnreadableLines unreadable_;
  SubnetDraft draft_;
  std::array<std::unordered_map<Guid, std::uint32_t>, 3> devices_;  // by type
  std::uint32_t current_ = kNone;                                   // whose ports are being read
  bool orphans_reported_ = false;
  bool begun_ = false;  // a device was named
  std::size_t line_ = 0;
  std::size_t readable_ = 0, left_out_ = 0;  // lines about devices and ports
};

}  // namespace

Result<void> read_ibnetdiscover(std::string_view text, const ReadOptions& options, TopologyBuilder& builder) {
  const auto plain = plain_text(text, options);
  if (!plain) return std::unexpected(plain.error());
  return IbnetdiscoverReader(options, builder).read(*plain);
}

}  // namespace railweave::fabric
