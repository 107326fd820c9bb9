// A page of a table that is ordered by name; the cursor is the last name of the page before.
#pragma once

#include <string>
#include <utility>

#include "services/rest/handlers/list_query.h"
#include "services/rest/json/page.h"

namespace railweave::api {

// write(value): an item as JSON text; show(value): whether the caller may see it.
template <class Table, class Write, class Show>
Result<Response> list_by_name(const Call& call, const Table& table, std::uint64_t seq, Write write, Show show) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  PageWriter page(query->limit, query->fields);
  std::string next, last;
  for (auto at = table.upper_bound(query->cursor); at != table.end(); ++at) {
    if (!show(at->second)) continue;
    if (page.full()) {
      next = last;
      break;
    }
    page.add(write(at->second));
    last = at->first;
  }
  return Response::json(std::move(page).finish(next, seq));
}
template <class Table, class Write>
Result<Response> list_by_name(const Call& call, const Table& table, std::uint64_t seq, Write write) {
  return list_by_name(call, table, seq, std::move(write), [](const auto&) { return true; });
}

}  // namespace railweave::api
