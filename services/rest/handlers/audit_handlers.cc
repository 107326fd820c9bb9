#include <limits>
#include <utility>

#include "fabric/base/text/time_text.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/audit.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

// From the reporting table, which is written with the journal's records and outlives them.
Result<Response> list_audit(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  db::ReportFilter filter{.table = "audit_trail", .limit = query->limit, .equal = {}, .at_least = {}};
  if (!query->cursor.empty()) {
    const auto after = parse_number("cursor", query->cursor, std::numeric_limits<std::int64_t>::max());
    if (!after) return invalid_cursor(query->cursor);
    filter.after = static_cast<std::int64_t>(*after);
  }
  for (const auto* name : {"actor", "kind"}) {
    if (const auto* text = call.request.query(name)) filter.equal.emplace_back(name, *text);
  }
  if (const auto* text = call.request.query("requestId")) filter.equal.emplace_back("request_id", *text);
  if (const auto* text = call.request.query("since")) {
    const auto time = parse_time_us(*text);
    if (!time) {
      return fail(ErrorKind::invalid, "query.invalidTime", "'" + *text + "' is no time", {},
                  "like 2026-11-21T09:00:00Z (RFC 3339)");
    }
    filter.at_least.emplace_back("time_us", *time);
  }
  const std::uint64_t seq = call.plane.loop.state()->seq;
  const auto rows = call.plane.journal.read_report(filter);
  if (!rows) return std::unexpected(rows.error());
  PageWriter page(query->limit, query->fields);
  std::int64_t last = 0;
  for (const auto& row : *rows) {
    const AuditEntry entry = audit_entry(row);
    page.add(write_audit_entry(entry));
    last = entry.seq;
  }
  return Response::json(std::move(page).finish(rows->size() < query->limit ? "" : std::to_string(last), seq));
}

}  // namespace

void add_audit_routes(RouteTable& routes) {
  routes.get("/v1/audit",
             {.access = kAdministrators,
              .query = {"actor", "kind", "requestId", "since"},
              .page = PageLimits{.fields = {"actor", "kind", "requestId", "seq", "subject", "summary", "tenant", "time",
                                            "token"}},
              .http = {.compute = true}},
             list_audit);
}

}  // namespace railweave::api
