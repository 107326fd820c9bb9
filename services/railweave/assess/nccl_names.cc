#include "services/railweave/assess/nccl_names.h"

#include <algorithm>

#include "fabric/base/whole_number.h"

namespace railweave::cli {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

NcclName entry_of(std::string_view text, bool with_ports) {
  const auto colon = with_ports ? text.find(':') : std::string_view::npos;
  NcclName entry{.name = std::string(text.substr(0, colon)), .port = {}};
  if (colon == std::string_view::npos) return entry;
  entry.port = whole_number<unsigned>(text.substr(colon + 1));
  return entry;
}

}  // namespace

bool NcclNames::matches(const NcclName& entry, std::string_view device, unsigned port) const {
  const bool named = whole ? device == entry.name : device.starts_with(entry.name);
  return named && (!entry.port || *entry.port == port);
}

bool NcclNames::admits(std::string_view device, unsigned port) const {
  if (names.empty()) return true;
  const bool listed = std::ranges::any_of(names, [&](const NcclName& entry) { return matches(entry, device, port); });
  return listed != excludes;
}

NcclNames read_nccl_names(std::string_view text, bool with_ports) {
  NcclNames list;
  text = trimmed(text);
  if (text.starts_with('^')) list.excludes = true;
  if (list.excludes) text.remove_prefix(1);
  if (text.starts_with('=')) list.whole = true;
  if (list.whole) text.remove_prefix(1);
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string_view one = trimmed(text.substr(0, comma));
    if (!one.empty()) list.names.push_back(entry_of(one, with_ports));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return list;
}

}  // namespace railweave::cli
