// Rows of the reporting tables, as the journal's events lead to them: written with each event, compared with a store's by
// `railweave admin check`, and made again by `railweave admin rebuild-reports`. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "services/control/events/event_codec.h"

namespace railweave::api {

// All but that of the audit trail; what the event ends is in ended_rows(). `after`: the state with the event applied.
std::vector<db::ReportRow> report_rows(const control::Event& event, const control::ClusterState& after);

// Of audit_trail.
db::ReportRow audit_row(const control::Event& event);
// The same, of a record alone. One of a release that did not keep who asked lacks the columns that tell. Error
// (journal.unreadable): the payload has no summary.
Result<db::ReportRow> audit_row(const db::Record& record);

// In the place of one that cannot be read: what it was is not known.
Result<db::ReportRow> damaged_audit_row(const db::Record& record);

// Where a replay began. Rows that began with an earlier event cannot be told from the journal alone.
struct ReplayStart {
  std::uint64_t seq = 0;  // 0: with the first event, so that everything can be told
  std::uint64_t next_job = 1;
  std::int64_t time_us = 0;
};
ReplayStart replay_start(const control::ClusterState& state);
// Whether the row, of any table but audit_trail, began after that. What has no key that a row could have did.
bool began_after(const ReplayStart& start, const db::ReportRow& row);

}  // namespace railweave::api
