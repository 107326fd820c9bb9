#include "fabric/formats/infiniband/netlist_line.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {
namespace {

constexpr unsigned kMaxPort = TopologyBuilder::kMaxPortsPerDevice;
constexpr unsigned kMaxLid = 0xffff;
constexpr unsigned kMaxMask = 0xff;
constexpr std::array<std::pair<std::string_view, NetlistDevice>, 4> kDevices{{{"Switch", NetlistDevice::network_switch},
                                                                              {"Hca", NetlistDevice::adapter},
                                                                              {"Ca", NetlistDevice::adapter},
                                                                              {"Rt", NetlistDevice::router}}};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// "4xNDR" or "4x NDR"; nothing is taken where there is no such thing.
bool take_link(LineCursor& cursor, LinkSpec& link) {
  LineCursor ahead = cursor;
  const auto width = ahead.take_number(64);
  if (!width || !ahead.take('x')) return false;
  ahead.skip_blanks();
  const auto speed = parse_link_speed(ahead.take_word());
  static constexpr std::array<unsigned, 5> kWidths{1, 2, 4, 8, 12};
  const bool known = std::ranges::find(kWidths, *width) != kWidths.end();
  link = infiniband_link(static_cast<std::uint16_t>(known ? *width : 0), speed.value_or(LinkSpeed::unknown));
  cursor = ahead;
  return true;
}

// "w=2", "s=4", "e=8": link masks of ibsim; `mask` gets the number.
bool take_mask(LineCursor& cursor, char name, unsigned& mask) {
  LineCursor ahead = cursor;
  if (!ahead.take(name) || !ahead.take('=')) return false;
  const auto value = ahead.take_number(kMaxMask);
  if (!value || !(ahead.at_end() || is_blank(ahead.peek()))) return false;
  mask = *value;
  cursor = ahead;
  return true;
}

bool take_named_number(LineCursor& cursor, std::string_view name, unsigned max, std::optional<unsigned>& value) {
  LineCursor ahead = cursor;
  if (!ahead.take(name) || !is_blank(ahead.peek())) return false;
  ahead.skip_blanks();
  const auto number = ahead.take_number(max);
  if (!number) return false;
  if (!value) value = number;
  cursor = ahead;
  return true;
}

NetlistRemark parse_remark(LineCursor cursor) {
  NetlistRemark remark;
  unsigned width = 0;
  unsigned speed = 0;
  unsigned extended_speed = 0;
  for (cursor.skip_blanks(); !cursor.at_end(); cursor.skip_blanks()) {
    if (cursor.peek() == '#') {
      cursor.advance(1);
    } else if (cursor.peek() == '"' && !remark.description) {
      const auto rest = cursor.rest();
      const auto close = rest.rfind('"');  // descriptions may hold quotes themselves
      if (close == 0) {
        remark.broken_quote = true;
        return remark;
      }
      remark.description = rest.substr(1, close - 1);
      cursor.advance(close + 1);
    } else {
      auto& lid = remark.description ? remark.lid : remark.own_lid;
      auto& lmc = remark.description ? remark.lmc : remark.own_lmc;
      if (take_named_number(cursor, "lid", kMaxLid, lid) || take_named_number(cursor, "lmc", 7, lmc)) continue;
      if (take_link(cursor, remark.link)) continue;
      if (take_mask(cursor, 'w', width) || take_mask(cursor, 's', speed) || take_mask(cursor, 'e', extended_speed))
        continue;
      cursor.take_word();
    }
  }
  // The masks say what is enabled; "4xNDR" says what the link came up with.
  if (remark.link.width == 0 && remark.link.speed == LinkSpeed::unknown) {
    const auto best = extended_speed != 0 ? extended_speed_of_mask(extended_speed) : speed_of_mask(speed);
    remark.link = infiniband_link(width_of_mask(width), best);
  }
  return remark;
}

// "[7]", "[7][ext 3]".
std::optional<unsigned> take_port_number(LineCursor& cursor) {
  LineCursor ahead = cursor;
  if (!ahead.take('[')) return std::nullopt;
  const auto number = ahead.take_number(kMaxPort);
  if (!number || *number == 0 || !ahead.take(']')) return std::nullopt;
  if (ahead.take("[ext ")) {
    if (!ahead.take_number(~0U) || !ahead.take(']')) return std::nullopt;
  }
  cursor = ahead;
  return number;
}

std::optional<std::string_view> take_id(LineCursor& cursor) {
  if (cursor.peek() != '"') return std::nullopt;
  const auto rest = cursor.rest().substr(1);
  const auto close = rest.find('"');
  if (close == 0 || close == std::string_view::npos || close > kMaxNameBytes) return std::nullopt;
  cursor.advance(close + 2);
  return rest.substr(0, close);
}

}  // namespace

bool is_netlist_header(std::string_view line) {
  return std::ranges::any_of(kDevices, [&](const auto& device) {
    if (!line.starts_with(device.first) || line.size() <= device.first.size()) return false;
    const char next = line[device.first.size()];
    return is_blank(next) || (next >= '0' && next <= '9');
  });
}

std::expected<NetlistHeader, Expected> parse_netlist_header(std::string_view line) {
  NetlistHeader header;
  LineCursor cursor(line);
  for (const auto& [word, type] : kDevices) {
    if (!cursor.take(word)) continue;
    header.type = type;
    break;
  }
  cursor.skip_blanks();
  const auto ports = cursor.take_number(kMaxPort);
  if (!ports || *ports == 0) return std::unexpected(Expected{cursor.column(), "a number of ports from 1 to 1024"});
  header.ports = *ports;
  cursor.skip_blanks();
  const auto id = take_id(cursor);
  if (!id) return std::unexpected(Expected{cursor.column(), "the device's id in quotes"});
  header.id = *id;
  header.remark = parse_remark(cursor);
  return header;
}

std::expected<NetlistPort, Expected> parse_netlist_port(std::string_view line) {
  NetlistPort result;
  LineCursor cursor(line);
  const auto port = take_port_number(cursor);
  if (!port) return std::unexpected(Expected{cursor.column(), "a port number from 1 to 1024 in brackets"});
  result.port = *port;
  cursor.skip_blanks();
  result.guid = cursor.take_guid_in_parentheses().value_or(Guid());
  cursor.skip_blanks();
  const auto peer = take_id(cursor);
  if (!peer) return std::unexpected(Expected{cursor.column(), "the id of the device at the other end in quotes"});
  result.peer_id = *peer;
  LineCursor after_blanks = cursor;
  after_blanks.skip_blanks();
  if (after_blanks.peek() == '[') {
    cursor = after_blanks;
    const auto peer_port = take_port_number(cursor);
    if (!peer_port) {
      return std::unexpected(Expected{cursor.column(), "the port number at the other end in brackets, from 1 to 1024"});
    }
    result.peer_port = *peer_port;
  }
  cursor.skip_blanks();
  result.peer_guid = cursor.take_guid_in_parentheses().value_or(Guid());
  result.remark = parse_remark(cursor);
  return result;
}

std::uint16_t width_of_mask(unsigned mask) {
  static constexpr std::array<std::pair<unsigned, std::uint16_t>, 5> kWidths{
      {{8, 12}, {4, 8}, {2, 4}, {16, 2}, {1, 1}}};
  for (const auto& [bit, width] : kWidths) {
    if ((mask & bit) != 0) return width;
  }
  return 0;
}

LinkSpeed speed_of_mask(unsigned mask) {
  if ((mask & 4U) != 0) return LinkSpeed::qdr;
  if ((mask & 2U) != 0) return LinkSpeed::ddr;
  return (mask & 1U) != 0 ? LinkSpeed::sdr : LinkSpeed::unknown;
}

LinkSpeed extended_speed_of_mask(unsigned mask) {
  if ((mask & 8U) != 0) return LinkSpeed::ndr;
  if ((mask & 4U) != 0) return LinkSpeed::hdr;
  if ((mask & 2U) != 0) return LinkSpeed::edr;
  return (mask & 1U) != 0 ? LinkSpeed::fdr : LinkSpeed::unknown;
}

}  // namespace railweave::fabric
