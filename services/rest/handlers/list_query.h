// Query parameters: the page of a list (limit, cursor, fields), flags and numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "services/rest/handlers/route_table.h"

namespace railweave::api {

struct ListQuery {
  std::uint64_t limit = 0;
  std::string cursor;
  std::vector<std::string> fields;  // empty: all
};
// Within the limits of the route's page.
Result<ListQuery> read_list_query(const Call& call);

// "true" or "false"; false without it. Anything else, the empty text too, is refused.
Result<bool> read_flag(const Call& call, std::string_view name);
// nullopt: not given.
Result<std::optional<std::uint64_t>> read_number(const Call& call, std::string_view name, std::uint64_t max);

Result<std::uint64_t> parse_number(std::string_view name, std::string_view text, std::uint64_t max);

// The error for a cursor that is not one of the list's own.
std::unexpected<Error> invalid_cursor(const std::string& cursor);

// Cursors into a list by dense id: valid only for the topology version that they were issued under.
std::string make_cursor(std::uint64_t version, std::uint64_t next);
Result<std::uint64_t> read_cursor(const std::string& cursor, std::uint64_t version);  // "" is 0

}  // namespace railweave::api
