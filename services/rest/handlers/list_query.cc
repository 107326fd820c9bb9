#include "services/rest/handlers/list_query.h"

#include <algorithm>
#include <charconv>

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

Result<void> check_names(const Request& request, const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : request.target.query) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string list;
    for (const auto k : known) list += (list.empty() ? "" : ", ") + std::string(k);
    return fail(ErrorKind::invalid, "query.unknownParameter", "there is no query parameter '" + name + "' here", {},
                list.empty() ? "it takes none" : "it takes " + list);
  }
  return {};
}

}  // namespace

Result<bool> read_flag(const Request& request, std::string_view name) {
  const auto* text = request.query(name);
  if (text == nullptr || *text == "false") return false;
  if (*text == "true" || text->empty()) return true;
  return fail(ErrorKind::invalid, "query.invalidFlag", std::string(name) + " is true or false, not '" + *text + "'");
}

Result<std::uint64_t> parse_number(std::string_view name, std::string_view text, std::uint64_t max) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > max) {
    return fail(ErrorKind::invalid, "query.invalidNumber",
                std::string(name) + " must be a whole number up to " + std::to_string(max) + ", not '" +
                    std::string(text) + "'");
  }
  return number;
}

Result<void> check_query(const Request& request, std::initializer_list<std::string_view> known) {
  return check_names(request, known);
}

Result<ListQuery> read_list_query(const Request& request, std::initializer_list<std::string_view> filters) {
  std::vector<std::string_view> known{"limit", "cursor", "fields"};
  known.insert(known.end(), filters);
  if (auto checked = check_names(request, known); !checked) return std::unexpected(checked.error());
  ListQuery query;
  if (const auto* limit = request.query("limit")) {
    auto number = parse_number("limit", *limit, ListQuery::kMaxLimit);
    if (!number) return std::unexpected(number.error());
    if (*number == 0) return fail(ErrorKind::invalid, "query.invalidNumber", "limit must be at least 1");
    query.limit = *number;
  }
  if (const auto* cursor = request.query("cursor")) query.cursor = *cursor;
  if (const auto* fields = request.query("fields")) query.fields = split(*fields);
  return query;
}

std::string make_cursor(std::uint64_t version, std::uint64_t next) {
  return "v" + std::to_string(version) + "." + std::to_string(next);
}

Result<std::uint64_t> read_cursor(const std::string& cursor, std::uint64_t version) {
  if (cursor.empty()) return 0;
  const auto dot = cursor.find('.');
  if (cursor.front() != 'v' || dot == std::string::npos) {
    return fail(ErrorKind::invalid, "query.invalidCursor", "'" + cursor + "' is no cursor of this list");
  }
  auto of_version = parse_number("cursor", std::string_view(cursor).substr(1, dot - 1), UINT64_MAX);
  auto next = parse_number("cursor", std::string_view(cursor).substr(dot + 1), UINT32_MAX);
  if (!of_version || !next) {
    return fail(ErrorKind::invalid, "query.invalidCursor", "'" + cursor + "' is no cursor of this list");
  }
  if (*of_version != version) {
    return fail(ErrorKind::conflict, "query.cursorExpired", "the topology changed since this cursor was given", {},
                "start the list again");
  }
  return *next;
}

}  // namespace railweave::api
