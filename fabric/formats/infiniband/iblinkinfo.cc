#include "fabric/formats/infiniband/iblinkinfo.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/core.h>

#include "fabric/formats/infiniband/link_text.h"
#include "fabric/formats/infiniband/subnet_draft.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

constexpr unsigned kLastLid = 0xffff;
constexpr unsigned kLastPort = TopologyBuilder::kMaxPortsPerDevice;
constexpr std::string_view kOpens = "==(";
constexpr std::string_view kCloses = ")==>";

// "0x... "description" 73 12[  ]", of which all but the port may be missing.
struct PrintedEnd {
  Guid guid;
  std::string_view description;
  std::optional<unsigned> lid;
  unsigned port = 0;
};

Guid take_printed_guid(LineCursor& cursor) {
  cursor.skip_blanks();
  if (!cursor.rest().starts_with("0x")) return {};
  return parse_guid(cursor.take_word()).value_or(Guid());
}

std::string_view take_quoted(LineCursor& cursor) {
  cursor.skip_blanks();
  if (cursor.peek() != '"') return {};
  const std::string_view rest = cursor.rest().substr(1);
  const auto end = rest.rfind('"');
  if (end == std::string_view::npos) return {};
  cursor.advance(end + 2);
  std::string_view text = rest.substr(0, end);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<PrintedEnd> take_end(LineCursor& cursor) {
  PrintedEnd end;
  end.guid = take_printed_guid(cursor);
  end.description = take_quoted(cursor);
  cursor.skip_blanks();
  auto number = cursor.take_number(kLastLid);
  if (!number) return std::nullopt;
  cursor.skip_blanks();
  if (cursor.peek() != '[') {
    end.lid = number;
    number = cursor.take_number(kLastPort);
    if (!number) return std::nullopt;
  }
  end.port = *number;
  cursor.skip_blanks();
  if (!cursor.take('[')) return std::nullopt;
  const auto close = cursor.rest().find(']');
  if (close == std::string_view::npos) return std::nullopt;
  cursor.advance(close + 1);
  if (end.description.empty()) end.description = take_quoted(cursor);
  return end;
}

// " 4X      106.25 Gbps Active/  LinkUp"; none: the link is not up.
std::optional<LinkSpec> parse_link_state(std::string_view text) {
  if (text.find("LinkUp") == std::string_view::npos) return std::nullopt;
  LineCursor cursor(text);
  cursor.skip_blanks();
  const std::uint16_t width = width_of_text(cursor.take_word());
  cursor.skip_blanks();
  const LinkSpeed speed = speed_of_lane_gbps(cursor.take_word());
  const bool fdr10 = cursor.rest().find("FDR10") != std::string_view::npos;
  return infiniband_link(width, fdr10 ? LinkSpeed::fdr10 : speed);
}

class IblinkinfoReader {
 public:
  IblinkinfoReader(const ReadOptions& options, TopologyBuilder& builder)
      : options_(options), builder_(builder), unreadable_(options, builder) {}

  Result<void> read(std::string_view text) {
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
      line_ = lines.number();
      read_line(line);
      if (unreadable_.too_many()) return std::unexpected(unreadable_.unreadable_error(kWanted));
      if (draft_.over_limit()) return std::unexpected(SubnetDraft::over_limit_error(options_));
    }
    if (draft_.device_count() == 0) return std::unexpected(unreadable_.unreadable_error(kWanted));
    tell_switches_apart();
    join_ends();
    unreadable_.finish();
    return std::move(draft_).move_into(options_, builder_);
  }

 private:
  static constexpr std::string_view kWanted =
      "output of iblinkinfo, such as 'Switch: 0x... name:' and '7 1[  ] ==( 4X ... LinkUp)==> 73 12[  ] \"leaf-1\"'";
  static constexpr std::uint32_t kNoDevice = UINT32_MAX;

  struct Cable {
    std::uint32_t device = 0;
    unsigned port = 0, lid = 0;
    Guid port_guid, peer_guid;
    unsigned peer_lid = 0, peer_port = 0;
    std::string_view peer_description;
    LinkSpec link;
  };

  void read_line(std::string_view line) {
    if (line.size() > kMaxLineBytes) {
      return unreadable_.add(line_, kMaxLineBytes, fmt::format("a line of at most {} bytes", kMaxLineBytes));
    }
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || line[begin] == '#') return;
    const std::string_view shown = line.substr(begin);
    if (line.find(kOpens) != std::string_view::npos) return read_link(line);
    if (shown.starts_with("Switch: ")) return begin_switch(shown.substr(8));
    for (const std::string_view kind : {"CA: ", "Router: "}) {
      if (shown.starts_with(kind)) return begin_adapter(kind == "Router: ", shown.substr(kind.size()));
    }
    unreadable_.add(line_, begin + 1, "a device ('CA: name:') or a link ('7 1[  ] ==( ... )==> ...')");
  }

  static std::string_view without_colon(std::string_view name) {
    while (name.ends_with(' ') || name.ends_with('\t')) name.remove_suffix(1);
    if (name.ends_with(':')) name.remove_suffix(1);
    return name;
  }

  void begin_switch(std::string_view rest) {
    LineCursor cursor(rest);
    current_ = kNoDevice;
    adapter_.reset();
    const Guid guid = take_printed_guid(cursor);
    if (!guid.known()) return unreadable_.add(line_, 1, "the GUID of a switch ('Switch: 0x... name:')");
    cursor.skip_blanks();
    current_ = device_of(guid, NetlistDevice::network_switch, without_colon(cursor.rest()));
  }

  void begin_adapter(bool router, std::string_view rest) {
    current_ = kNoDevice;
    adapter_ = Adapter{router ? NetlistDevice::router : NetlistDevice::adapter, without_colon(rest)};
  }

  void read_link(std::string_view line) {
    const auto opens = line.find(kOpens), closes = line.find(kCloses, opens);
    if (closes == std::string_view::npos) return unreadable_.add(line_, opens + 1, "a link that ends with ')==>'");
    LineCursor near(line.substr(0, opens));
    const auto end = take_end(near);
    if (!end) return unreadable_.add(line_, near.column(), "a LID and a port of this device, such as '7 1[  ]'");
    const std::uint32_t device = device_at(*end);
    if (device == kNoDevice) return unreadable_.add(line_, 1, "the GUID of a port, or a device before its first port");
    auto& drafted = draft_.device(device);
    drafted.ports = std::max(drafted.ports, end->port);
    const unsigned lid = end->lid.value_or(0);
    note_lid(lid, device);
    const auto link = parse_link_state(line.substr(opens + kOpens.size(), closes - opens - kOpens.size()));
    if (!link) return;
    LineCursor far(line.substr(closes + kCloses.size()));
    const auto peer = take_end(far);
    if (!peer)
      return unreadable_.add(line_, closes + kCloses.size() + far.column(), "the LID and port of the other end");
    cables_.push_back(
        {device, end->port, lid, end->guid, peer->guid, peer->lid.value_or(0), peer->port, peer->description, *link});
  }

  // The device whose port a line is about: with -l the line names it, else the heading before it does.
  std::uint32_t device_at(const PrintedEnd& end) {
    if (!end.description.empty() && end.guid.known()) {
      const std::uint32_t device = device_of(end.guid, NetlistDevice::adapter, end.description);
      ++lines_naming_[device];
      return device;
    }
    if (adapter_ && end.guid.known() && current_ == kNoDevice) {
      current_ = device_of(end.guid, adapter_->type, adapter_->description);
    }
    return current_;
  }

  std::uint32_t device_of(Guid guid, NetlistDevice type, std::string_view description) {
    const auto [at, is_new] = by_guid_.try_emplace(guid, static_cast<std::uint32_t>(draft_.device_count()));
    if (is_new) {
      draft_.add_device({.type = type, .guid = guid, .ports = 1, .description = description, .has_section = true});
    }
    return at->second;
  }

  void note_lid(unsigned lid, std::uint32_t device) {
    if (lid == 0) return;
    const auto [at, is_new] = by_lid_.try_emplace(lid, device);
    if (!is_new && at->second != device) at->second = kNoDevice;  // of two devices: tells nothing
  }

  std::uint32_t peer_of(const Cable& cable) const {
    if (const auto found = by_guid_.find(cable.peer_guid); cable.peer_guid.known() && found != by_guid_.end()) {
      return found->second;
    }
    const auto found = by_lid_.find(cable.peer_lid);
    return found == by_lid_.end() ? kNoDevice : found->second;
  }

  // With -l no line says what a device is. A switch has one GUID for all of its ports, each with a line, also where
  // nothing is plugged in; an adapter has one for each port.
  void tell_switches_apart() {
    for (const auto& [device, lines] : lines_naming_) {
      auto& drafted = draft_.device(device);
      if (lines > 1 || drafted.description.starts_with("MF0;")) drafted.type = NetlistDevice::network_switch;
    }
    for (Cable& cable : cables_) {
      auto& drafted = draft_.device(cable.device);
      if (drafted.type != NetlistDevice::network_switch) continue;
      if (cable.lid != 0) drafted.lid = cable.lid;
      cable.port_guid = {};
    }
  }

  void join_ends() {
    std::vector<std::string> lost;
    std::size_t count = 0;
    for (const Cable& cable : cables_) {
      const std::uint32_t peer = peer_of(cable);
      if (peer == kNoDevice) {
        if (++count <= kMaxFindingObjects) {
          lost.push_back(fmt::format("{}/{}", to_string(draft_.device(cable.device).guid), cable.port));
        }
        continue;
      }
      draft_.device(peer).ports = std::max(draft_.device(peer).ports, cable.peer_port);
      draft_.add_cable_end({.device = cable.device,
                            .port = cable.port,
                            .peer = peer,
                            .peer_port = cable.peer_port,
                            .guid = cable.port_guid,
                            .peer_guid = {},
                            .lid = cable.lid,
                            .lmc = 0,
                            .peer_lid = cable.peer_lid,
                            .link = cable.link});
    }
    if (count == 0) return;
    builder_.add_finding({"peerNotFound", Severity::warning,
                          fmt::format("{}: the other end of {} links is not in the output, or shares its LID with "
                                      "another device; they are left out",
                                      options_.source, count),
                          std::move(lost)});
  }

  struct Adapter {
    NetlistDevice type;
    std::string_view description;
  };

  const ReadOptions& options_;
  TopologyBuilder& builder_;
  UnreadableLines unreadable_;
  SubnetDraft draft_;
  std::unordered_map<Guid, std::uint32_t> by_guid_;
  std::unordered_map<unsigned, std::uint32_t> by_lid_;
  std::unordered_map<std::uint32_t, std::size_t> lines_naming_;
  std::vector<Cable> cables_;
  std::uint32_t current_ = kNoDevice;
  std::optional<Adapter> adapter_;  // whose ports come now
  std::size_t line_ = 0;
};

}  // namespace

bool is_iblinkinfo_line(std::string_view line) {
  return line.find(']') != std::string_view::npos && line.find(kOpens) != std::string_view::npos &&
         line.find(kCloses) != std::string_view::npos;
}

Result<void> read_iblinkinfo(std::string_view text, const ReadOptions& options, TopologyBuilder& builder) {
  const auto plain = plain_text(text, options);
  if (!plain) return std::unexpected(plain.error());
  return IblinkinfoReader(options, builder).read(*plain);
}

}  // namespace railweave::fabric
