#include "services/rest/access/on_behalf.h"

#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/percent.h"

namespace railweave::api {
namespace {

constexpr std::size_t kMaxBytes = 1'024;

bool is_user(std::string_view name) {
  constexpr std::string_view kPrefix = "uid-";
  if (name == "root") return true;
  if (!name.starts_with(kPrefix)) return false;
  const std::string_view digits = name.substr(kPrefix.size());
  return !digits.empty() && digits.size() <= 10 && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string on_behalf(const Caller& caller) {
  if (caller.known_by != KnownBy::socket && caller.known_by != KnownBy::certificate) return {};
  return fmt::format("{} {}", railweave::to_text(caller.known_by), percent_encode(caller.name));
}

std::optional<Vouched> parse_on_behalf(std::string_view text) {
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos || text.size() > kMaxBytes) return std::nullopt;
  auto name = percent_decode(text.substr(blank + 1));
  if (!name || name->empty() || percent_encode(*name) != text.substr(blank + 1)) return std::nullopt;
  for (const KnownBy known_by : {KnownBy::socket, KnownBy::certificate}) {
    if (railweave::to_text(known_by) != text.substr(0, blank)) continue;
    if (known_by == KnownBy::socket && !is_user(*name)) return std::nullopt;
    return Vouched{known_by, std::move(*name)};
  }
  return std::nullopt;
}

}  // namespace railweave::api
