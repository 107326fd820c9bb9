// write_cabling, read_cabling. A line for the format, then one for every device and for each of its ports that has
// a GUID, a LID or a cable:
//   cabling 1
//   switch 248a070300f0e1d0 36 3 0 =MF0;leaf:MSB7700/U1
//   port 5 0000000000000000 0 0 248a070300aabb10 1 4 EDR
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/drivers/opensm/protocol/protocol_line.h"
#include "fabric/drivers/opensm/routing/cabling.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::opensm {
namespace {

constexpr std::array<std::string_view, 3> kTypes{"switch", "adapter", "router"};  // by NetlistDevice

// Bytes that are no printable ASCII, blanks and '%' as %XX.
std::string escaped(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%') {
      out += c;
    } else {
      out += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto byte = whole_number<std::uint8_t>(text.substr(i + 1, 2), UINT8_MAX, 16);
    if (!byte) return std::nullopt;
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out;
}

class CablingReader {
 public:
  // False: the line is malformed.
  bool take(std::string_view line) {
    if (line.starts_with("port ")) return take_port(line);
    const auto split = words_of<6>(line);
    if (!split || split->second != 6) return false;
    const auto& words = split->first;
    const auto type = std::ranges::find(kTypes, words[0]);
    const auto guid = hex_16(words[1]);
    const auto ports = whole_number<std::uint8_t>(words[2]);
    const auto lid = whole_number<Lid>(words[3]);
    const auto lmc = whole_number<std::uint8_t>(words[4]);
    if (type == kTypes.end() || !guid || *guid == 0 || !ports || *ports > 254 || !lid || !lmc || *lmc > 7 ||
        words[5].front() != '=') {
      return false;
    }
    const auto description = unescaped(words[5].substr(1));
    if (!description || cabling.devices.size() >= TopologyBuilder::kMaxHcas) return false;
    CabledDevice device{static_cast<NetlistDevice>(type - kTypes.begin()), *description, *lid, *lmc, {}};
    device.ports.resize(*ports);
    for (CabledPort& port : device.ports) port.healthy = false;
    const auto [at, is_new] = cabling.devices.try_emplace(Guid(*guid), std::move(device));
    current_ = &at->second;
    return is_new;
  }

  Cabling cabling;

 private:
  bool take_port(std::string_view line) {
    const auto split = words_of<9>(line);
    if (current_ == nullptr || !split || split->second != 9) return false;
    const auto& words = split->first;
    const auto number = whole_number<std::uint8_t>(words[1]);
    const auto guid = hex_16(words[2]);
    const auto lid = whole_number<Lid>(words[3]);
    const auto lmc = whole_number<std::uint8_t>(words[4]);
    const auto peer = hex_16(words[5]);
    const auto peer_port = whole_number<std::uint8_t>(words[6]);
    const auto width = whole_number<std::uint8_t>(words[7]);
    const auto speed = words[8] == "-" ? std::optional(LinkSpeed::unknown) : parse_link_speed(words[8]);
    if (!number || *number < 1 || *number > current_->ports.size() || !guid || !lid || !lmc || *lmc > 7 || !peer ||
        !peer_port || !width || !speed) {
      return false;
    }
    CabledPort& port = current_->ports[*number - 1U];
    port = {Guid(*guid), *lid, *lmc, Guid(*peer), *peer_port, {}, false};
    if (port.peer.known()) port.link = infiniband_link(*width, *speed);
    return true;
  }

  CabledDevice* current_ = nullptr;
};

}  // namespace

std::string write_cabling(const Cabling& cabling) {
  std::string text = "cabling 1\n";
  const auto number = [](unsigned value) { return fmt::format(" {}", value); };
  for (const auto& [guid, device] : cabling.devices) {
    text += fmt::format("{} {}{}{}{} ={}\n", kTypes[static_cast<std::size_t>(device.type)], to_string(guid),
                        number(static_cast<unsigned>(device.ports.size())), number(device.lid), number(device.lmc),
                        escaped(device.description));
    for (std::size_t p = 0; p < device.ports.size(); ++p) {
      const CabledPort& port = device.ports[p];
      if (!port.guid.known() && port.lid == 0 && !port.peer.known()) continue;
      const std::string_view speed = to_string(port.link.speed);
      text += fmt::format("port{} {}{}{} {}{}{} {}\n", number(static_cast<unsigned>(p + 1)), to_string(port.guid),
                          number(port.lid), number(port.lmc), to_string(port.peer), number(port.peer_port),
                          number(port.link.width), speed.empty() ? "-" : speed);
    }
  }
  return text;
}

Result<Cabling> read_cabling(std::string_view text) {
  CablingReader reader;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (number == 1 ? line != "cabling 1" : !reader.take(line)) {
      return fail(ErrorKind::malformed, "opensm.cabling",
                  number == 1 ? "expected 'cabling 1'" : "expected a line of a device or a port",
                  fmt::format("line {}", number), "remove the file to make OpenSM learn the cabling again");
    }
  }
  return std::move(reader.cabling);
}

}  // namespace railweave::fabric::opensm
