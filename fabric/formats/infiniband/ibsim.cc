#include "fabric/formats/infiniband/ibsim.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/formats/infiniband/netlist_line.h"
#include "fabric/formats/infiniband/subnet_draft.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

class IbsimReader {
 public:
  IbsimReader(const ReadOptions& options, TopologyBuilder& builder)
      : options_(options), builder_(builder), unreadable_(options, builder) {}

  Result<void> read(std::string_view text) {
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
      line_ = lines.number();
      if (auto outcome = read_line(line); !outcome) return outcome;
      if (unreadable_.too_many()) return std::unexpected(unreadable_.unreadable_error(kFormat));
      if (draft_.over_limit() || cables_.size() > SubnetDraft::kMaxCableEnds)
        return std::unexpected(SubnetDraft::over_limit_error(options_));
    }
    if (draft_.device_count() == 0) return std::unexpected(unreadable_.unreadable_error(kFormat));
    unreadable_.finish();
    add_cables();
    return std::move(draft_).move_into(options_, builder_);
  }

 private:
  static constexpr std::string_view kFormat = "an ibsim netlist, such as 'Switch 36 \"spine-1\"'";
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // A link end, kept until every device is known: netlists name devices before they describe them.
  struct PendingCable {
    std::uint32_t device;
    std::size_t line;
    NetlistPort port;
    std::string peer_id;
  };
  struct GuidSeries {
    std::uint64_t base;
    std::uint64_t next;
  };

  Result<void> read_line(std::string_view line) {
    LineCursor start(line);
    start.skip_blanks();
    const std::size_t indent = start.column() - 1;
    line = start.rest();
    if (line.empty() || line.front() == '#') return {};
    if (line.size() > kMaxLineBytes) {
      unreadable_.add(line_, kMaxLineBytes, fmt::format("a line of at most {} bytes", kMaxLineBytes));
    } else if (line.front() == '[') {
      read_port(line, indent);
    } else if (is_netlist_header(line)) {
      read_header(line, indent);
    } else if (line.starts_with("include")) {
      return fail(ErrorKind::invalid, "ibsim.include", "include is not followed: a fabric is read from one file",
                  location_text(options_.source, line_, indent + 1), "put the included file's lines in its place");
    } else if (line.starts_with("do ") || line.front() == '@') {
      builder_.add_finding({"unsupportedLine",
                            Severity::warning,
                            location_text(options_.source, line_, indent + 1) +
                                ": commands and port aliases of ibsim are not supported; the line is left out",
                            {location_text(options_.source, line_, indent + 1)}});
    } else {
      read_setting(line, indent);
    }
    return {};
  }

  // "switchguid=0x10(10)", "caguid+16", "width=2", "module = \"m\"", "vendid=0x2c9".
  void read_setting(std::string_view line, std::size_t indent) {
    const auto name_end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
    const auto name = line.substr(0, name_end);
    LineCursor cursor(line);
    cursor.advance(name.size());
    cursor.skip_blanks();
    const bool relative = cursor.peek() == '+';
    if (name.empty() || !(cursor.take('=') || cursor.take('+'))) {
      unreadable_.add(line_, indent + cursor.column(),
                      "a device ('Hca 1 \"node-1\"'), a port ('[1] \"leaf\"[3]') or a setting");
      return;
    }
    cursor.skip_blanks();
    if (name.starts_with("switchguid")) {
      set_guid(NetlistDevice::network_switch, relative, cursor, indent);
    } else if (name.starts_with("hcaguids") || name.starts_with("caguid")) {
      set_guid(NetlistDevice::adapter, relative, cursor, indent);
    } else if (name.starts_with("rtguid")) {
      set_guid(NetlistDevice::router, relative, cursor, indent);
    } else if (name == "width") {
      set_mask(width_mask_, cursor, indent);
    } else if (name == "speed") {
      set_mask(speed_mask_, cursor, indent);
    } else if (name == "speedext") {
      set_mask(extended_speed_mask_, cursor, indent);
    } else if (name == "module") {
      const auto rest = cursor.rest();
      const auto close = rest.find('"', 1);
      if (!rest.starts_with('"') || close == std::string_view::npos || close > kMaxNameBytes) {
        unreadable_.add(line_, indent + cursor.column(), "the module's name in quotes");
        return;
      }
      prefix_ = std::string(rest.substr(1, close - 1));
      if (!prefix_.empty()) prefix_ += '#';
    }
  }

  void set_guid(NetlistDevice type, bool relative, LineCursor cursor, std::size_t indent) {
    const std::size_t column = cursor.column();
    const auto text = cursor.rest().substr(0, cursor.rest().find_first_of(" \t("));
    const bool hexadecimal = text.starts_with("0x");  // strtoull's rule, but without its octal
    const auto value =
        whole_number<std::uint64_t>(hexadecimal ? text.substr(2) : text, UINT64_MAX, hexadecimal ? 16 : 10);
    if (!value) {
      unreadable_.add(line_, indent + column, "a GUID, such as 0x2c5eab0300b87b40");
      return;
    }
    auto& series = guids_[static_cast<std::size_t>(type)];
    if (!relative) series.base = *value;
    series.next = relative ? series.base + *value : *value;
  }

  void set_mask(unsigned& mask, LineCursor cursor, std::size_t indent) {
    if (const auto value = cursor.take_number(0xff)) {
      mask = *value;
    } else {
      unreadable_.add(line_, indent + cursor.column(), "a mask from 0 to 255");
    }
  }

  std::string full_id(std::string_view id) const {
    return id.find('#') == std::string_view::npos ? prefix_ + std::string(id) : std::string(id);
  }

  void read_header(std::string_view line, std::size_t indent) {
    current_ = kNone;
    orphans_reported_ = true;
    const auto header = parse_netlist_header(line);
    if (!header) {
      unreadable_.add(line_, indent + header.error().column, header.error().what);
      return;
    }
    const auto [at, is_new] =
        by_id_.try_emplace(full_id(header->id), static_cast<std::uint32_t>(draft_.device_count()));
    if (!is_new) {
      unreadable_.add(line_, indent + line.find('"') + 1, "an id that no other device has");
      return;
    }
    auto& series = guids_[static_cast<std::size_t>(header->type)];
    const bool is_switch = header->type == NetlistDevice::network_switch;
    current_ = draft_.add_device({.type = header->type,
                                  .guid = Guid(series.next),
                                  .ports = header->ports,
                                  .description = description(*header, line, at->first),
                                  .lid = is_switch ? lid_of(header->remark) : 0,
                                  .lmc = is_switch ? lmc_of(header->remark) : 0,
                                  .has_section = true});
    series.next += is_switch ? 1 : header->ports + 1;
  }

  // In quotes, or bare up to what ibsim takes for its end; the id where there is none.
  static std::string_view description(const NetlistHeader& header, std::string_view line, std::string_view id) {
    if (header.remark.description && !header.remark.description->empty()) return *header.remark.description;
    const auto mark = line.find('#', static_cast<std::size_t>(header.id.data() + header.id.size() - line.data()));
    if (mark == std::string_view::npos || header.remark.description) return id;
    auto bare = line.substr(mark + 1);
    for (const std::string_view end : {" enhanced port ", " base port ", " lid ", " lmc "})
      bare = bare.substr(0, bare.find(end));
    while (!bare.empty() && (bare.front() == ' ' || bare.front() == '\t')) bare.remove_prefix(1);
    while (!bare.empty() && (bare.back() == ' ' || bare.back() == '\t')) bare.remove_suffix(1);
    return bare.empty() || bare.front() == '"' ? id : bare;
  }
  static unsigned lid_of(const NetlistRemark& remark) { return remark.lid.value_or(remark.own_lid.value_or(0)); }
  static unsigned lmc_of(const NetlistRemark& remark) { return remark.lmc.value_or(remark.own_lmc.value_or(0)); }

  void read_port(std::string_view line, std::size_t indent) {
    if (current_ == kNone) {
      if (!orphans_reported_) unreadable_.add(line_, indent + 1, "a device before its first port");
      orphans_reported_ = true;
      return;
    }
    auto port = parse_netlist_port(line);
    if (!port) {
      unreadable_.add(line_, indent + port.error().column, port.error().what);
      return;
    }
    auto& link = port->remark.link;
    if (link.width == 0 && link.speed == LinkSpeed::unknown &&
        (width_mask_ | speed_mask_ | extended_speed_mask_) != 0) {
      link = infiniband_link(width_of_mask(width_mask_), extended_speed_mask_ != 0
                                                             ? extended_speed_of_mask(extended_speed_mask_)
                                                             : speed_of_mask(speed_mask_));
    }
    cables_.push_back({current_, line_, *port, full_id(port->peer_id)});
  }

  void add_cables() {
    std::vector<std::string> unknown;
    for (const auto& cable : cables_) {
      const auto peer = by_id_.find(cable.peer_id);
      if (peer == by_id_.end()) {
        if (unknown.size() < kMaxUnreadableLines) {
          unknown.push_back(location_text(options_.source, cable.line, 1) + ": " + cable.peer_id);
        }
        continue;
      }
      draft_.add_cable_end({.device = cable.device,
                            .port = cable.port.port,
                            .peer = peer->second,
                            .peer_port = cable.port.peer_port,
                            .guid = port_guid(cable.device, cable.port.port, cable.port.guid),
                            .peer_guid = port_guid(peer->second, cable.port.peer_port, cable.port.peer_guid),
                            .lid = cable.port.remark.own_lid.value_or(0),
                            .lmc = cable.port.remark.own_lmc.value_or(0),
                            .peer_lid = cable.port.remark.lid.value_or(0),
                            .link = cable.port.remark.link});
    }
    if (!unknown.empty()) {
      builder_.add_finding({"unknownPeer", Severity::error,
                            "links to devices that the netlist does not describe; they are left out",
                            std::move(unknown)});
    }
  }

  Guid port_guid(std::uint32_t device, unsigned port, Guid given) {
    const auto& node = draft_.device(device);
    if (given.known() || node.type == NetlistDevice::network_switch) return given;
    return Guid(node.guid.value() + port);
  }

  const ReadOptions& options_;
  TopologyBuilder& builder_;
  UnreadableLines unreadable_;
  SubnetDraft draft_;
  std::unordered_map<std::string, std::uint32_t> by_id_;  // nodes never move: descriptions are views of the keys
  std::vector<PendingCable> cables_;
  std::array<GuidSeries, 3> guids_{{{0x200000, 0x200000}, {0x100000, 0x100000}, {0, 0}}};  // by NetlistDevice
  std::string prefix_;
  unsigned width_mask_ = 0, speed_mask_ = 0, extended_speed_mask_ = 0;
  std::uint32_t current_ = kNone;
  bool orphans_reported_ = false;
  std::size_t line_ = 0;
};

}  // namespace

Result<void> read_ibsim(std::string_view text, const ReadOptions& options, TopologyBuilder& builder) {
  const auto plain = plain_text(text, options);
  if (!plain) return std::unexpected(plain.error());
  return IbsimReader(options, builder).read(*plain);
}

}  // namespace railweave::fabric
