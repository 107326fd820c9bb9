#include "fabric/routing/opensm/fdbs_text.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>
#include <vector>

#include "fabric/base/fnv1a.h"
#include "fabric/routing/opensm/opensm_dumps.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kLineBytes = 32;

// "0x0001 : 001  : 02   : yes", as printf's "0x%04X : %03u  : %02u   : yes" would, but for gigabytes.
void append_entry(std::string& out, const TableRows::Entry& entry) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::array<char, kLineBytes> line{};
  std::size_t size = 0;
  const auto put = [&](std::string_view text) { size += text.copy(line.data() + size, text.size()); };
  const auto put_number = [&](unsigned number, std::size_t digits) {
    for (unsigned bound = digits == 3 ? 1000 : 100; number >= bound; bound *= 10) ++digits;
    for (std::size_t i = digits; i-- > 0; number /= 10) line[size + i] = static_cast<char>('0' + number % 10);
    size += digits;
  };
  put("0x");
  for (int shift = 12; shift >= 0; shift -= 4) line[size++] = kHex[(entry.lid >> static_cast<unsigned>(shift)) & 15U];
  if (entry.links == TableRows::kLost) {
    put(" : UNREACHABLE\n");
  } else {
    put(" : ");
    put_number(entry.port, 3);
    put("  : ");
    put_number(entry.links, 2);
    put("   : yes\n");
  }
  out.append(line.data(), size);
}

}  // namespace

std::optional<std::string> FdbsText::next() {
  std::string out;
  out.reserve(kPieceBytes + 2 * kLineBytes);
  while (!ended_ && out.size() < kPieceBytes) {
    if (!in_switch_) {
      if (!rows_.next_switch()) {
        ended_ = true;
        break;
      }
      std::array<char, 96> heading{};
      const int length = std::snprintf(heading.data(), heading.size(),
                                       "dump_ucast_routes: Switch 0x%016" PRIx64 "\nLID    : Port : Hops : Optimal\n",
                                       rows_.guid().value());
      out.append(heading.data(), static_cast<std::size_t>(length));
      in_switch_ = true;
      entry_ = 0;
    }
    for (; entry_ < rows_.size() && out.size() < kPieceBytes; ++entry_) append_entry(out, rows_.entry(entry_));
    if (entry_ < rows_.size()) break;
    out += '\n';
    in_switch_ = false;
  }
  if (out.empty()) return std::nullopt;
  return out;
}

std::string write_fdbs(const ForwardingTables& tables) {
  FdbsText text(tables);
  std::string out;
  while (const auto piece = text.next()) out += *piece;
  return out;
}

std::uint64_t entries_digest(const ForwardingTables& tables) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> by_guid;
  for (TableRows rows(tables); rows.next_switch();) {
    Fnv1a entries;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto entry = rows.entry(i);
      if (entry.links != TableRows::kLost) entries.add(std::uint64_t{entry.lid} << 16U | entry.port);
    }
    by_guid.emplace_back(rows.guid().value(), entries.value());
  }
  std::ranges::sort(by_guid);
  Fnv1a all;
  for (const auto& [guid, digest] : by_guid) all.add(guid).add(digest);
  return all.value();
}

}  // namespace railweave::fabric
