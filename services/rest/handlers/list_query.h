// The query parameters that every list takes: limit, cursor, fields, minSeq; and strictness about the rest.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/message/request.h"
#include "fabric/base/error.h"

namespace railweave::api {

struct ListQuery {
  static constexpr std::uint64_t kDefaultLimit = 100;
  static constexpr std::uint64_t kMaxLimit = 10'000;

  std::uint64_t limit = kDefaultLimit;
  std::string cursor;
  std::vector<std::string> fields;
};

// `filters`: the further parameters this list takes. Others are refused by name.
Result<ListQuery> read_list_query(const Request& request, std::initializer_list<std::string_view> filters);

// Refuses query parameters that are not in `known`.
Result<void> check_query(const Request& request, std::initializer_list<std::string_view> known);

// "true", "" (just the name) or "false"; false without it.
Result<bool> read_flag(const Request& request, std::string_view name);

Result<std::uint64_t> parse_number(std::string_view name, std::string_view text, std::uint64_t max);

// Cursors into a list by dense id: only good for the topology version they were given under.
std::string make_cursor(std::uint64_t version, std::uint64_t next);
Result<std::uint64_t> read_cursor(const std::string& cursor, std::uint64_t version);  // "" is 0

}  // namespace railweave::api
