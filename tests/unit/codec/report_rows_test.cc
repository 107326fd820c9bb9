// Rows of the audit trail as they are written with an event, and as they are read from its record again; and which rows of the
// other tables a replay can tell.
#include "services/control/codec/report_rows.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "services/control/codec/journal_codec.h"
#include "services/control/events/apply.h"
#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api::report_rows_test {
namespace {

using namespace control;  // NOLINT: this file is about its types

Event tenant_put(std::string actor, RequestOrigin origin) {
  Tenant tenant;
  tenant.name = "research";
  return {1, 3, 1'700'000'000'000'000, std::move(actor), TenantPut{std::move(tenant)}, std::move(origin)};
}

db::Record record_of(const Event& event) {
  ClusterState state;
  apply(state, event);
  return JournalCodec().encode(event, state).record;
}

std::vector<std::string> names(const db::ReportRow& row) {
  std::vector<std::string> found;
  for (const auto& [name, value] : row.columns) found.push_back(name);
  return found;
}

TEST(ReportRows, OfTheAuditTrailAreTheSameFromTheRecord) {
  for (const Event& event : {tenant_put("alice", {"change-7", "research", "token-1"}),
                             tenant_put("local", {"r\"},{\\", "", ""}), tenant_put("railweave", {})}) {
    const db::ReportRow written = audit_row(event);
    for (const bool linked : {false, true}) {
      db::Record record = record_of(event);
      if (linked) JournalCodec().link(record, std::string(64, 'a'));
      const auto read = audit_row(record);
      ASSERT_TRUE(read) << read.error().text();
      EXPECT_EQ(read->columns, written.columns) << event.actor;
      const auto decoded = JournalCodec().decode(record, ClusterState(), {});
      ASSERT_TRUE(decoded) << decoded.error().text();
      EXPECT_EQ(audit_row(*decoded).columns, written.columns) << event.actor;
    }
  }
}

TEST(ReportRows, OfRecordsThatDoNotSayWhoAskedLackTheseColumns) {
  const auto row = audit_row(record_of(tenant_put("alice", {})));
  ASSERT_TRUE(row);
  EXPECT_EQ(names(*row), (std::vector<std::string>{"seq", "time_us", "actor", "kind", "subject", "summary"}));
}

TEST(ReportRows, ARecordWithoutASummaryIsAnError) {
  for (const char* payload : {"", "[]", "{}", R"({"summary":7})"}) {
    db::Record record = record_of(tenant_put("alice", {}));
    record.payload = payload;
    EXPECT_FALSE(audit_row(record)) << payload;
  }
}

TEST(ReportRows, BeganAfterWhatAReplayBeganWith) {
  const ReplayStart start{.seq = 100, .next_job = 8, .time_us = 5'000};
  const auto began = [&](const std::string& table, const std::string& id) {
    return began_after(start, {table, {{"id", id}}});
  };
  EXPECT_FALSE(began("job_history", "job-000007"));
  EXPECT_TRUE(began("job_history", "job-000008"));
  EXPECT_FALSE(began("fabric_incidents", "link.down:a b 5000"));
  EXPECT_TRUE(began("fabric_incidents", "link.down:a b 5001"));
  EXPECT_FALSE(began("guarantee_breaches", "job-000007 4999"));
  // What no event could have led to is never taken for an old row.
  for (const char* id : {"", "job", "link.down:a b", "link.down:a b x", "job-000007 5x"}) {
    EXPECT_TRUE(began("guarantee_breaches", id)) << id;
  }
  EXPECT_TRUE(began("job_history", "mine"));
  EXPECT_TRUE(began_after({}, {"job_history", {{"id", "job-000001"}}}));
}

}  // namespace
}  // namespace railweave::api::report_rows_test
