#include "services/rest/handlers/list_query.h"

#include <algorithm>

#include <fmt/format.h>

#include "fabric/base/check.h"
#include "fabric/base/whole_number.h"

namespace railweave::api {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (const auto part = text.substr(0, comma); !part.empty()) parts.emplace_back(part);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return parts;
}

}  // namespace

Result<bool> read_flag(const Call& call, std::string_view name) {
  const auto* text = call.request.query(name);
  if (text == nullptr || *text == "false") return false;
  if (*text == "true") return true;
  return fail(ErrorKind::invalid, "query.invalidFlag", fmt::format("{} is true or false, not '{}'", name, *text));
}

Result<std::uint64_t> parse_number(std::string_view name, std::string_view text, std::uint64_t max) {
  const auto number = whole_number<std::uint64_t>(text, max);
  if (!number) {
    return fail(ErrorKind::invalid, "query.invalidNumber",
                fmt::format("{} must be a whole number up to {}, not '{}'", name, max, text));
  }
  return *number;
}

Result<std::optional<std::uint64_t>> read_number(const Call& call, std::string_view name, std::uint64_t max) {
  const auto* text = call.request.query(name);
  if (text == nullptr) return std::nullopt;
  return parse_number(name, *text, max);
}

Result<ListQuery> read_list_query(const Call& call) {
  RAILWEAVE_CHECK(call.rules.page.has_value(), "only a route with pages reads one");
  ListQuery query{.limit = call.rules.page->initial};
  const auto limit = read_number(call, "limit", call.rules.page->max);
  if (!limit) return std::unexpected(limit.error());
  if (*limit == 0U) return fail(ErrorKind::invalid, "query.invalidNumber", "limit must be at least 1");
  if (*limit) query.limit = **limit;
  if (const auto* cursor = call.request.query("cursor")) query.cursor = *cursor;
  if (const auto* fields = call.request.query("fields")) query.fields = split(*fields);
  for (const auto& name : query.fields) {
    const auto& known = call.rules.page->fields;
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string list = fmt::format("{}", fmt::join(known, ", "));
    return fail(ErrorKind::invalid, "query.unknownField", "items of this list have no field '" + name + "'", {},
                "they have " + list);
  }
  return query;
}

std::unexpected<Error> invalid_cursor(const std::string& cursor) {
  return fail(ErrorKind::invalid, "query.invalidCursor", "'" + cursor + "' is no cursor of this list");
}

std::string make_cursor(std::uint64_t version, std::uint64_t next) { return fmt::format("v{}.{}", version, next); }

Result<std::uint64_t> read_cursor(const std::string& cursor, std::uint64_t version) {
  if (cursor.empty()) return 0;
  const auto dot = cursor.find('.');
  if (cursor.front() != 'v' || dot == std::string::npos) {
    return invalid_cursor(cursor);
  }
  auto of_version = parse_number("cursor", std::string_view(cursor).substr(1, dot - 1), UINT64_MAX);
  auto next = parse_number("cursor", std::string_view(cursor).substr(dot + 1), UINT32_MAX);
  if (!of_version || !next) {
    return invalid_cursor(cursor);
  }
  if (*of_version != version) {
    return fail(ErrorKind::conflict, "query.cursorExpired", "the topology has changed since this cursor was issued", {},
                "start the list again");
  }
  return *next;
}

}  // namespace railweave::api
