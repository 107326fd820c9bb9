#include "fabric/formats/format.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "fabric/base/byte_order_mark.h"
#include "fabric/formats/infiniband/netlist_line.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

constexpr std::array<Format, 6> kFormats{Format::ibnetdiscover, Format::ibsim,           Format::native,
                                         Format::nccl_topology, Format::nvidia_smi_topo, Format::nvlink_cliques};

// "S-2c5eab0300b87b40": what ibnetdiscover calls a device.
bool is_guid_id(std::string_view id) {
  return id.size() > 2 && (id[0] == 'S' || id[0] == 'H' || id[0] == 'R') && id[1] == '-' && id.size() == 18 &&
         parse_guid(id.substr(2)).has_value();
}

bool mentions(std::string_view line, std::string_view word) { return line.find(word) != std::string_view::npos; }

// A word such as 61248eac-4785-4fbf-9cbd-231635e37e9d.
bool has_uuid(std::string_view line) {
  static constexpr std::string_view kShape = "00000000-0000-0000-0000-000000000000";
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  for (std::size_t at = 0; at + kShape.size() <= std::min<std::size_t>(line.size(), 512); ++at) {
    if (std::ranges::equal(kShape, line.substr(at, kShape.size()),
                           [&](char shape, char c) { return shape == '-' ? c == '-' : is_hex(c); })) {
      return true;
    }
  }
  return false;
}

// "railweave": "fabric", as a field: other tools' texts may have the name as a value.
bool is_native(std::string_view text) {
  static constexpr std::string_view kField = "\"railweave\"";
  for (auto at = text.find(kField); at != std::string_view::npos; at = text.find(kField, at + 1)) {
    LineCursor cursor(text.substr(at + kField.size()));
    const auto skip = [&] {
      while (!cursor.at_end() && std::string_view(" \t\r\n").find(cursor.peek()) != std::string_view::npos)
        cursor.advance(1);
    };
    skip();
    if (!cursor.take(':')) continue;
    skip();
    if (cursor.peek() == '"') return true;
  }
  return false;
}

// JSON of another tool is nothing that is known: only what speaks of cliques is a list of them.
Format detect_json(std::string_view text) {
  if (is_native(text)) return Format::native;
  const bool cliques = mentions(text, "clique") || mentions(text, "Clique");
  return cliques ? Format::nvlink_cliques : Format::unknown;
}

}  // namespace

std::string_view to_string(Format format) { return to_text(format); }

std::optional<Format> parse_format(std::string_view text) {
  const auto format = parse_enum<Format>(text);
  return format == Format::unknown ? std::nullopt : format;
}

std::span<const Format> all_formats() { return kFormats; }

Format detect_format(std::string_view text) {
  text = without_byte_order_mark(text);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.empty()) return Format::unknown;
  if (text.front() == '{') return detect_json(text);
  if (text.front() == '<') return Format::nccl_topology;

  bool seen_device = false;
  bool first = true;
  LineReader lines(text);
  for (std::string_view line; lines.next(line);) {
    LineCursor cursor(line);
    cursor.skip_blanks();
    line = cursor.rest();
    if (line.empty()) continue;
    if (line.starts_with("# ibsim netlist")) return Format::ibsim;
    if (is_netlist_header(line)) {
      if (line.starts_with("Hca")) return Format::ibsim;
      const auto header = parse_netlist_header(line);
      if (header && !is_guid_id(header->id)) return Format::ibsim;
      seen_device = true;
    } else if (!seen_device && mentions(line, "GPU0")) {
      return Format::nvidia_smi_topo;
    } else if (first && line.front() != '#' && (mentions(line, "clusterUuid") || has_uuid(line))) {
      return Format::nvlink_cliques;
    }
    if (line.front() != '#') first = false;
  }
  return seen_device ? Format::ibnetdiscover : Format::unknown;
}

}  // namespace railweave::fabric
