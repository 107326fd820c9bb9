#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/page.h"
#include "services/rest/json/service/operation.h"

namespace railweave::api {
namespace {

// Newest first; the cursor is the id of the last operation on the page before.
Result<Response> list_operations(const Operations& operations, const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const std::string& cursor = query->cursor;
  if (!cursor.empty() && (!cursor.starts_with("op-") || !parse_number("cursor", cursor.substr(3), UINT64_MAX))) {
    return invalid_cursor(cursor);
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
  return Response::json(std::move(page).finish(next, 0));
}

Result<Response> get_operation(const Operations& operations, const Call& call) {
  const auto operation = operations.find(call.request.param("id"));
  if (!operation) {
    return fail(ErrorKind::notFound, "operations.notFound", "there is no operation '" + call.request.param("id") + "'",
                {}, "operations are forgotten when the service restarts; read the resource itself");
  }
  return Response::json(write_operation(*operation, http_status));
}

}  // namespace

void add_operation_routes(RouteTable& routes, Operations& operations) {
  routes.get("/v1/operations", {.access = kViewers, .page = PageLimits{}, .by = AnsweredBy::leader},
             [&operations](const Call& call) { return list_operations(operations, call); });
  routes.get("/v1/operations/{id}", {.access = kViewers, .by = AnsweredBy::leader},
             [&operations](const Call& call) { return get_operation(operations, call); });
}

}  // namespace railweave::api
