#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/operation.h"
#include "services/rest/json/page.h"

namespace railweave::api {

void add_operation_routes(Router& router, Operations& operations) {
  router.get("/v1/operations", [&operations](const Request& request, const Responder& respond) {
    const auto query = read_list_query(request, {});
    if (!query) return void(respond(query.error()));
    // Newest first; the cursor is the id of the last one on the page before.
    const std::string& cursor = query->cursor;
    if (!cursor.empty() && (!cursor.starts_with("op-") || !parse_number("cursor", cursor.substr(3), UINT64_MAX))) {
      return void(respond(
          Error{ErrorKind::invalid, "query.invalidCursor", "'" + cursor + "' is no cursor of this list", {}, {}}));
    }
    PageWriter page(query->limit, query->fields);
    std::string next;
    std::string last;
    for (const auto& operation : operations.list()) {
      const auto& id = operation.id;
      const bool older = id.size() < cursor.size() || (id.size() == cursor.size() && id < cursor);
      if (!cursor.empty() && !older) continue;
      if (page.full()) {
        next = last;
        break;
      }
      page.add(write_operation(operation, http_status));
      last = id;
    }
    respond(Response::json(std::move(page).finish(next, 0)));
  });
  router.get("/v1/operations/{id}", [&operations](const Request& request, const Responder& respond) {
    if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
    const auto operation = operations.find(request.param("id"));
    if (!operation) {
      return void(respond(Error{ErrorKind::notFound,
                                "operations.notFound",
                                "there is no operation '" + request.param("id") + "'",
                                {},
                                "operations are forgotten at a restart; look at the resource itself"}));
    }
    respond(Response::json(write_operation(*operation, http_status)));
  });
}

}  // namespace railweave::api
