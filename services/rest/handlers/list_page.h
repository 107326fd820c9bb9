// A page of a table that is ordered by name; the cursor is the last name of the page before.
#pragma once

#include <iterator>
#include <string>
#include <utility>

#include "services/rest/handlers/list_query.h"
#include "services/rest/json/page.h"

namespace railweave::api {

// write(value): an item as JSON text.
template <class Table, class Write>
Result<Response> list_by_name(const Call& call, const Table& table, std::uint64_t seq, Write write) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  PageWriter page(query->limit, query->fields);
  std::string next;
  for (auto at = table.upper_bound(query->cursor); at != table.end(); ++at) {
    if (page.full()) {
      next = std::prev(at)->first;
      break;
    }
    page.add(write(at->second));
  }
  return Response::json(std::move(page).finish(next, seq));
}

}  // namespace railweave::api
