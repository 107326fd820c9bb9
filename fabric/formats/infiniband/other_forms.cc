#include "fabric/formats/infiniband/other_forms.h"

#include <array>
#include <cctype>
#include <string>

#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kLinesLookedAt = 64;

std::string_view without_blanks(std::string_view line) {
  const auto first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

// "CA", "SW" or "RT", a LID, a port and a GUID.
bool is_port_line(std::string_view line) {
  if (!line.starts_with("CA ") && !line.starts_with("SW ") && !line.starts_with("RT ")) return false;
  const auto rest = without_blanks(line.substr(2));
  return !rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front())) != 0 &&
         rest.find(" 0x") != std::string_view::npos;
}

bool is_link_line(std::string_view line) {
  return line.find("]") != std::string_view::npos && line.find("==(") != std::string_view::npos &&
         line.find(")==>") != std::string_view::npos;
}

bool is_list_line(std::string_view line) {
  constexpr std::array<std::string_view, 3> kKinds = {"Ca", "Switch", "Router"};
  for (const auto kind : kKinds) {
    if (!line.starts_with(kind)) continue;
    const auto rest = without_blanks(line.substr(kind.size()));
    if (rest.starts_with(": 0x") && rest.find(" ports ") != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::string describe_other_form(std::string_view text) {
  LineReader lines(text);
  std::size_t looked_at = 0;
  for (std::string_view line; looked_at < kLinesLookedAt && lines.next(line);) {
    line = without_blanks(line);
    if (line.empty() || line.front() == '#') continue;
    ++looked_at;
    if (is_port_line(line)) return "this is output of `ibnetdiscover -p`, a report of ports";
    if (is_link_line(line)) return "this is output of `iblinkinfo`";
    if (is_list_line(line)) return "this is a list of nodes of `ibnetdiscover`";
  }
  return {};
}

}  // namespace railweave::fabric
