#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fabric/base/text/time_text.h"
#include "services/control/codec/report_rows.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/access/audit.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

struct AuditQuery {
  std::int64_t after = 0;
  std::int64_t since_us = std::numeric_limits<std::int64_t>::min();
  std::vector<std::pair<std::string, std::string>> equal;  // columns of audit_trail
};

Result<AuditQuery> read_audit_query(const Call& call, const ListQuery& list) {
  AuditQuery query;
  if (!list.cursor.empty()) {
    const auto after = parse_number("cursor", list.cursor, std::numeric_limits<std::int64_t>::max());
    if (!after) return invalid_cursor(list.cursor);
    query.after = static_cast<std::int64_t>(*after);
  }
  for (const auto* name : {"actor", "kind"}) {
    if (const auto* text = call.request.query(name)) query.equal.emplace_back(name, *text);
  }
  if (const auto* text = call.request.query("requestId")) query.equal.emplace_back("request_id", *text);
  if (const auto* text = call.request.query("since")) {
    const auto time = parse_time_us(*text);
    if (!time) {
      return fail(ErrorKind::invalid, "query.invalidTime", "'" + *text + "' is no time", {},
                  "like 2026-11-21T09:00:00Z (RFC 3339)");
    }
    query.since_us = *time;
  }
  return query;
}

bool matches(const AuditQuery& query, const db::ReportRow& row) {
  const auto value = [&](std::string_view name) {
    return std::ranges::find(row.columns, name, &std::pair<std::string, db::Value>::first);
  };
  const auto equals = [&](const auto& wanted) {
    const auto at = value(wanted.first);
    return at != row.columns.end() && at->second == db::Value(wanted.second);
  };
  return std::ranges::all_of(query.equal, equals) && std::get<std::int64_t>(value("time_us")->second) >= query.since_us;
}

// The rows that the table must have, of the records that are kept, a bounded number of them for each page.
class AuditPage {
 public:
  AuditPage(const Call& call, const ListQuery& list, AuditQuery query)
      : journal_(call.plane.journal),
        seq_(call.plane.loop.state()->seq),
        query_(std::move(query)),
        page_(list.limit, list.fields),
        after_(static_cast<std::uint64_t>(query_.after)) {}

  // The next few records.
  Result<std::optional<Response>> step() {
    constexpr std::uint64_t kMaxRead = 20'000;
    if (read_ < kMaxRead && !page_.full() && after_ < seq_) {
      if (auto read = read_some(); !read) return std::unexpected(read.error());
      return std::nullopt;
    }
    return Response::json(std::move(page_).finish(after_ < seq_ ? std::to_string(after_) : "", seq_));
  }

 private:
  Result<void> read_some() {
    constexpr std::size_t kAtOnce = 100;
    const auto records = journal_.read({.after_seq = after_,
                                        .up_to_seq = seq_,
                                        .limit = kAtOnce,
                                        .kinds = {},
                                        .subject_kind = {},
                                        .subject_id = {},
                                        .with_damaged = true});
    if (!records) return std::unexpected(records.error());
    if (records->empty()) after_ = seq_;
    read_ += records->size();
    for (const auto& record : *records) {
      if (page_.full()) break;
      after_ = record.seq;
      // One that is damaged is an entry too: what it was may have been asked for.
      const auto row = record.damaged ? damaged_audit_row(record) : audit_row(record);
      if (!row) return std::unexpected(row.error());
      if (record.damaged || matches(query_, *row)) page_.add(write_audit_entry(audit_entry(*row)));
    }
    return {};
  }

  db::Journal& journal_;
  const std::uint64_t seq_;
  const AuditQuery query_;
  PageWriter page_;
  std::uint64_t after_, read_ = 0;
};

// The reporting table is written with the journal's records and outlives them.
Result<Response> audit_of_table(const Call& call, const ListQuery& list, const AuditQuery& query) {
  db::ReportFilter filter{
      .table = "audit_trail", .after = query.after, .limit = list.limit, .equal = query.equal, .at_least = {}};
  if (query.since_us != AuditQuery{}.since_us) filter.at_least.emplace_back("time_us", query.since_us);
  const std::uint64_t seq = call.plane.loop.state()->seq;
  const auto rows = call.plane.journal.read_report(filter);
  if (!rows) return std::unexpected(rows.error());
  PageWriter page(list.limit, list.fields);
  std::int64_t last = 0;
  for (const auto& row : *rows) {
    const AuditEntry entry = audit_entry(row);
    page.add(write_audit_entry(entry));
    last = entry.seq;
  }
  return Response::json(std::move(page).finish(rows->size() < list.limit ? "" : std::to_string(last), seq));
}

Result<Steps> list_audit(const Call& call) {
  const auto list = read_list_query(call);
  if (!list) return std::unexpected(list.error());
  const auto query = read_audit_query(call, *list);
  if (!query) return std::unexpected(query.error());
  const auto from_journal = read_flag(call, "fromJournal");
  if (!from_journal) return std::unexpected(from_journal.error());
  if (*from_journal) {
    auto page = std::make_unique<AuditPage>(call, *list, *query);
    return Steps([page = std::move(page)] { return page->step(); });
  }
  return Steps([&call, list = *list, query = *query]() -> Result<std::optional<Response>> {
    return audit_of_table(call, list, query);
  });
}

}  // namespace

void add_audit_routes(RouteTable& routes) {
  routes.get("/v1/audit",
             {.access = kAdministrators,
              .query = {"actor", "fromJournal", "kind", "requestId", "since"},
              .page = PageLimits{},
              .http = {.compute = true}},
             list_audit);
}

}  // namespace railweave::api
