#include "fabric/routing/opensm/dump_text.h"

#include <fmt/core.h>

#include "fabric/base/whole_number.h"

namespace railweave::fabric {

std::unexpected<Error> malformed_dump(std::size_t line, const std::string& what) {
  return fail(ErrorKind::malformed, "routing.badDump", what, fmt::format("line {}", line),
              "expected opensm.fdbs or opensm-lfts.dump as `opensm -D 0x43` writes them");
}

std::optional<std::uint64_t> parse_number(std::string_view text, int base) {
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  return whole_number(text, UINT64_MAX, base);
}

std::string_view take_word(std::string_view& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return text = {};
  text.remove_prefix(begin);
  const auto end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view first = text.substr(0, end);
  text.remove_prefix(end);
  return first;
}

std::string_view text_after(std::string_view text, std::string_view key, std::string_view ends) {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find_first_of(ends));
}

std::string_view text_between(std::string_view text, char open, char close) {
  const auto begin = text.find(open);
  const auto end = text.rfind(close);
  if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) return {};
  return text.substr(begin + 1, end - begin - 1);
}

}  // namespace railweave::fabric
