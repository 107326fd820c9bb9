#include "fabric/formats/infiniband/opensm_links.h"

#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>

#include "fabric/formats/infiniband/link_text.h"
#include "fabric/formats/infiniband/subnet_draft.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

struct ListedEnd {
  NetlistDevice type = NetlistDevice::adapter;
  unsigned ports = 0, lid = 0, port = 0;
  Guid node, port_guid;
  std::string_view description;
};

std::optional<std::uint64_t> hex_after(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<ListedEnd> parse_listed_end(std::string_view text) {
  ListedEnd end;
  const auto begin = text.find_first_not_of(" \t{");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view kind = text.substr(begin, 2);
  if (kind == "SW") end.type = NetlistDevice::network_switch;
  if (kind == "RT" || kind == "Rt") end.type = NetlistDevice::router;
  const auto opens = text.find('{', begin), closes = text.rfind('}');
  if (opens == std::string_view::npos || closes == std::string_view::npos || closes < opens) return std::nullopt;
  const std::string_view head = text.substr(begin, opens - begin), tail = text.substr(closes);
  const auto ports = hex_after(head, "Ports:"), node = hex_after(head, "NodeGUID:"), own = hex_after(head, "PortGUID:");
  const auto lid = hex_after(tail, "LID:"), port = hex_after(tail, "PN:");
  if (!ports || !node || !port || *ports > TopologyBuilder::kMaxPortsPerDevice ||
      *port > TopologyBuilder::kMaxPortsPerDevice) {
    return std::nullopt;
  }
  end.ports = static_cast<unsigned>(*ports);
  end.port = static_cast<unsigned>(*port);
  end.lid = static_cast<unsigned>(lid.value_or(0) & 0xffffU);
  end.node = Guid(*node);
  end.port_guid = Guid(own.value_or(0));
  end.description = text.substr(opens + 1, closes - opens - 1);
  return end;
}

class OpensmLinksReader {
 public:
  OpensmLinksReader(const ReadOptions& options, TopologyBuilder& builder)
      : options_(options), builder_(builder), unreadable_(options, builder) {}

  Result<void> read(std::string_view text) {
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      if (line.size() > kMaxLineBytes || !read_link(line)) {
        unreadable_.add(lines.number(), 1, "a link, '{ CA Ports:02 ... {name} LID:0007 PN:01 } { SW ... } PHY=4x'");
      }
      if (unreadable_.too_many()) return std::unexpected(unreadable_.unreadable_error(kShape));
      if (draft_.over_limit()) return std::unexpected(SubnetDraft::over_limit_error(options_));
    }
    if (draft_.device_count() == 0) return std::unexpected(unreadable_.unreadable_error(kShape));
    unreadable_.finish();
    return std::move(draft_).move_into(options_, builder_);
  }

 private:
  static constexpr std::string_view kShape = "OpenSM's opensm-subnet.lst, such as '{ CA Ports:02 ... } { SW ... }'";

  bool read_link(std::string_view line) {
    const auto middle = line.find(" } { ");
    const auto last = line.rfind(" }");
    if (middle == std::string_view::npos || last == std::string_view::npos || last <= middle + 4) return false;
    const auto a = parse_listed_end(line.substr(0, middle));
    const auto b = parse_listed_end(line.substr(middle + 3, last - middle - 3));
    if (!a || !b || a->port == 0 || b->port == 0) return false;
    const std::string_view tail = line.substr(last);
    const auto value = [&](std::string_view key) {
      const auto at = tail.find(key);
      if (at == std::string_view::npos) return std::string_view();
      const std::string_view text = tail.substr(at + key.size());
      return text.substr(0, text.find(' '));
    };
    const LinkSpec link = infiniband_link(width_of_text(value("PHY=")), speed_of_lane_gbps(value("SPD=")));
    const std::uint32_t at_a = listed_device(*a), at_b = listed_device(*b);
    add_end(at_a, *a, at_b, *b, link);
    add_end(at_b, *b, at_a, *a, link);  // a line speaks for both ends
    return true;
  }

  void add_end(std::uint32_t device, const ListedEnd& end, std::uint32_t peer_device, const ListedEnd& peer,
               const LinkSpec& link) {
    const bool is_switch = end.type == NetlistDevice::network_switch;
    const bool to_switch = peer.type == NetlistDevice::network_switch;
    draft_.add_cable_end({.device = device,
                          .port = end.port,
                          .peer = peer_device,
                          .peer_port = peer.port,
                          .guid = is_switch ? Guid() : end.port_guid,
                          .peer_guid = to_switch ? Guid() : peer.port_guid,
                          .lid = is_switch ? 0 : end.lid,
                          .lmc = 0,
                          .peer_lid = to_switch ? 0 : peer.lid,
                          .link = link});
  }

  std::uint32_t listed_device(const ListedEnd& end) {
    const auto [at, is_new] = devices_.try_emplace(end.node, static_cast<std::uint32_t>(draft_.device_count()));
    if (is_new) {
      draft_.add_device({.type = end.type,
                         .guid = end.node,
                         .ports = end.ports,
                         .description = end.description,
                         .lid = end.type == NetlistDevice::network_switch ? end.lid : 0,
                         .has_section = true});
    }
    return at->second;
  }

  const ReadOptions& options_;
  TopologyBuilder& builder_;
  UnreadableLines unreadable_;
  SubnetDraft draft_;
  std::unordered_map<Guid, std::uint32_t> devices_;
};

}  // namespace

bool is_opensm_link_line(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || line.find(" } { ") == std::string_view::npos) return false;
  return line.substr(begin).starts_with("{ ") && line.find("NodeGUID:") != std::string_view::npos;
}

Result<void> read_opensm_links(std::string_view text, const ReadOptions& options, TopologyBuilder& builder) {
  const auto plain = plain_text(text, options);
  if (!plain) return std::unexpected(plain.error());
  return OpensmLinksReader(options, builder).read(*plain);
}

}  // namespace railweave::fabric
