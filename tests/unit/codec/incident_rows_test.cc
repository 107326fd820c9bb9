// What the reporting tables get of things that begin and end: alarms, and times in which a guarantee does not hold.
#include "services/control/codec/incident_rows.h"

#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "services/control/codec/journal_codec.h"
#include "services/control/events/apply.h"
#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api::incident_rows_test {
namespace {

using namespace control;  // NOLINT: this file is about its types

// The tables as a store keeps them: a row is written in parts.
class Tables {
 public:
  using Value = db::Value;
  void happen(std::int64_t time_us, EventBody body) {
    const Event event{state.seq + 1, 1, time_us, "someone", std::move(body), {"r-9", "research", "abc"}};
    keep(codec_.ended_by(event, state));
    apply(state, event);
    keep(codec_.encode(event, state).reports);
  }
  std::map<std::string, Value> only(const std::string& table) {
    EXPECT_EQ(rows[table].size(), 1U) << table;
    return rows[table].empty() ? std::map<std::string, Value>() : rows[table].begin()->second;
  }

  ClusterState state;
  std::map<std::string, std::map<std::string, std::map<std::string, Value>>> rows;  // table -> id -> columns

 private:
  void keep(const std::vector<db::ReportRow>& written) {
    for (const auto& row : written) {
      std::map<std::string, Value> columns(row.columns.begin(), row.columns.end());
      if (!columns.contains("id")) columns["id"] = std::to_string(std::get<std::int64_t>(columns.at("seq")));
      const std::string id = std::get<std::string>(columns.at("id"));
      for (auto& [name, value] : columns) rows[row.table][id][name] = value;
    }
  }

  JournalCodec codec_;
};

Alarm link_alarm(std::string text) {
  Alarm alarm;
  alarm.kind = "link.down";
  alarm.subject_kind = "link";
  alarm.subject_id = "a/1--b/2";
  alarm.severity = AlarmSeverity::critical;
  alarm.text = std::move(text);
  alarm.jobs = {"job-000001", "job-000002"};
  return alarm;
}

TEST(IncidentRows, AnAlarmIsOneIncidentUntilItIsCleared) {
  Tables tables;
  tables.happen(100, AlarmRaised{link_alarm("down")});
  tables.happen(150, AlarmRaised{link_alarm("down still")});
  auto row = tables.only("fabric_incidents");
  EXPECT_EQ(row["time_us"], db::Value(std::int64_t{100}));
  EXPECT_EQ(row["summary"], db::Value("down still"));
  EXPECT_EQ(row["subject"], db::Value("link a/1--b/2"));
  EXPECT_EQ(row["jobs"], db::Value("job-000001 job-000002"));
  EXPECT_FALSE(row.contains("ended_at_us"));
  tables.happen(200, AlarmCleared{"link.down:a/1--b/2"});
  row = tables.only("fabric_incidents");
  EXPECT_EQ(row["ended_at_us"], db::Value(std::int64_t{200}));
  EXPECT_EQ(row["summary"], db::Value("down still"));
  tables.happen(300, AlarmRaised{link_alarm("again")});
  EXPECT_EQ(tables.rows["fabric_incidents"].size(), 2U);
  tables.happen(301, AlarmCleared{"none:such"});
  EXPECT_EQ(tables.rows["fabric_incidents"].size(), 2U);
}

TEST(IncidentRows, ABreachEndsHoweverItEnds) {
  enum class End { restored, withdrawn, ended };
  for (const End end : {End::restored, End::withdrawn, End::ended}) {
    Tables tables;
    auto job = std::make_shared<Job>();
    job->id = JobId(1);
    job->spec.tenant = "research";
    job->guarantee.emplace();
    job->guarantee->qos_class = "gold";
    job->guarantee->rate = RateMbps(50'000);
    tables.state.restore(job);
    JobGuarantee broken = *job->guarantee;
    broken.at_risk_since_us = 100;
    broken.reason = "a link is down";
    tables.happen(100, GuaranteeChanged{JobId(1), "research", GuaranteeChange::at_risk, broken, 0});
    auto row = tables.only("guarantee_breaches");
    EXPECT_EQ(row["job"], db::Value("job-000001"));
    EXPECT_EQ(row["tenant"], db::Value("research"));
    EXPECT_EQ(row["guaranteed_mbps"], db::Value(std::int64_t{50'000}));
    EXPECT_EQ(row["began_at_us"], db::Value(std::int64_t{100}));
    EXPECT_FALSE(row.contains("ended_at_us"));
    if (end == End::restored) {
      tables.happen(160, GuaranteeChanged{JobId(1), "research", GuaranteeChange::restored, *job->guarantee, 60});
    } else if (end == End::withdrawn) {
      tables.happen(160, GuaranteeChanged{JobId(1), "research", GuaranteeChange::amended, std::nullopt, 0});
    } else {
      tables.happen(160, JobEnded{JobId(1), JobState::cancelled, ""});
    }
    row = tables.only("guarantee_breaches");
    EXPECT_EQ(row["ended_at_us"], db::Value(std::int64_t{160}));
    EXPECT_EQ(row["reason"], db::Value("a link is down"));
  }
}

TEST(IncidentRows, TheAuditTrailSaysByWhichRequest) {
  Tables tables;
  tables.happen(7, TokenRevoked{"abc", "night"});
  auto row = tables.only("audit_trail");
  EXPECT_EQ(row["actor"], db::Value("someone"));
  EXPECT_EQ(row["kind"], db::Value("token.revoked"));
  EXPECT_EQ(row["request_id"], db::Value("r-9"));
  EXPECT_EQ(row["tenant"], db::Value("research"));
  EXPECT_EQ(row["token"], db::Value("abc"));
}

}  // namespace
}  // namespace railweave::api::incident_rows_test
