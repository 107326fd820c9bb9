#include "services/control/codec/report_rows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "services/control/codec/incident_rows.h"
#include "services/control/codec/request_origin_json.h"
#include "services/control/state/cluster_state.h"
#include "services/json/strict_json.h"

namespace railweave::api {
namespace {

using namespace control;  // NOLINT: this file is about its types

std::string text_of(JobState state) { return std::string(control::to_string(state)); }

// The row of job_history, or what changes of it; empty: nothing.
struct JobColumns {
  const ClusterState& after;

  using Columns = std::vector<std::pair<std::string, db::Value>>;
  Columns operator()(const JobQueued& body) const {
    const Job& job = *after.jobs.find(body.job->id);
    return {{"id", control::to_string(job.id)},
            {"tenant", job.spec.tenant},
            {"name", job.spec.name},
            {"state", text_of(job.state)},
            {"gpus", static_cast<std::int64_t>(scheduler::rank_count(job.spec.parallelism))},
            {"submitted_at_us", job.submitted_us}};
  }
  Columns operator()(const JobPlaced& body) const {
    const Job& job = *after.jobs.find(body.job->id);
    return {{"id", control::to_string(job.id)},
            {"tenant", job.spec.tenant},
            {"name", job.spec.name},
            {"state", text_of(job.state)},
            {"gpus", static_cast<std::int64_t>(job.placement.gpu_of_rank.size())},
            {"nodes", static_cast<std::int64_t>(job.nodes.size())},
            {"submitted_at_us", job.submitted_us},
            {"placed_at_us", job.started_us}};
  }
  Columns operator()(const JobEvicted& body) const { return queued_again(body.id, body.reason); }
  Columns operator()(const control::OfferExpired& body) const { return queued_again(body.id, body.reason); }
  Columns operator()(const JobEnded& body) const {
    const Job& job = *after.jobs.find(body.id);
    return {{"id", control::to_string(body.id)},
            {"state", text_of(body.state)},
            {"ended_at_us", job.ended_us},
            {"reason", body.reason.whole_text()}};
  }
  template <class Other>
  Columns operator()(const Other& /*body*/) const {
    return {};
  }

 private:
  static Columns queued_again(JobId id, const Message& reason) {
    return {{"id", control::to_string(id)}, {"state", text_of(JobState::queued)}, {"reason", reason.whole_text()}};
  }
};

bool is_own_actor(const std::string& actor) {
  constexpr std::array<std::string_view, 3> kOwn{"railweave", "railweaved", "fabric"};
  return std::ranges::find(kOwn, actor) != kOwn.end();
}

void add_origin(db::ReportRow& row, const RequestOrigin& origin) {
  row.columns.emplace_back("request_id", origin.request_id);
  row.columns.emplace_back("tenant", origin.tenant);
  row.columns.emplace_back("token", origin.token);
}

// The time at the end of "<what> <time>".
std::optional<std::int64_t> time_at_end(std::string_view id) {
  const auto blank = id.rfind(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return whole_number<std::int64_t>(id.substr(blank + 1));
}

}  // namespace

std::vector<db::ReportRow> report_rows(const Event& event, const ClusterState& after) {
  std::vector<db::ReportRow> rows;
  auto job = std::visit(JobColumns{after}, event.body);
  if (!job.empty()) rows.push_back({"job_history", std::move(job)});
  add_begun(event, after, rows);
  return rows;
}

db::ReportRow audit_row(const Event& event) {
  const EventHeading head = heading(event.body);
  db::ReportRow row{"audit_trail",
                    {{"seq", static_cast<std::int64_t>(event.seq)},
                     {"time_us", event.time_us},
                     {"actor", event.actor},
                     {"kind", std::string(head.type)},
                     {"subject", head.subject_kind + " " + head.subject_id},
                     {"summary", head.summary.whole_text()}}};
  add_origin(row, event.origin);
  return row;
}

Result<db::ReportRow> audit_row(const db::Record& record) {
  const auto payload = parse_json(record.payload);
  const bool readable =
      payload && payload->is_object() && payload->contains("summary") && (*payload)["summary"].is_string();
  if (!readable) {
    return fail(ErrorKind::internal, "journal.unreadable", "it has no summary",
                fmt::format("journal record {}", record.seq));
  }
  db::ReportRow row{"audit_trail",
                    {{"seq", static_cast<std::int64_t>(record.seq)},
                     {"time_us", record.time_us},
                     {"actor", record.actor},
                     {"kind", record.kind},
                     {"subject", record.subject_kind + " " + record.subject_id},
                     {"summary", (*payload)["summary"].get<std::string>()}}};
  if (const auto origin = origin_of_payload(*payload)) {
    add_origin(row, *origin);
  } else if (is_own_actor(record.actor)) {
    add_origin(row, {});
  }
  return row;
}

Result<db::ReportRow> damaged_audit_row(const db::Record& record) {
  db::ReportRow row{"audit_trail",
                    {{"seq", static_cast<std::int64_t>(record.seq)},
                     {"time_us", record.time_us},
                     {"actor", "railweave"},
                     {"kind", record.kind},
                     {"subject", record.subject_kind + " " + record.subject_id},
                     {"summary", "the store's record of this event is damaged or missing: see railweave admin check"}}};
  add_origin(row, {});
  return row;
}

ReplayStart replay_start(const ClusterState& state) {
  return {state.seq, state.jobs.next_id().number(), state.time_us};
}

bool began_after(const ReplayStart& start, const db::ReportRow& row) {
  if (start.seq == 0) return true;
  const auto key = std::ranges::find(row.columns, "id", &std::pair<std::string, db::Value>::first);
  const auto* id = key == row.columns.end() ? nullptr : std::get_if<std::string>(&key->second);
  if (id == nullptr) return true;
  if (row.table == "job_history") {
    const auto job = control::parse_job_id(*id);
    return !job || job->number() >= start.next_job;
  }
  const auto time_us = time_at_end(*id);
  return !time_us || *time_us > start.time_us;
}

}  // namespace railweave::api
