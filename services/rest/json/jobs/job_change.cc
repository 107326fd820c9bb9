#include "services/rest/json/jobs/job_change.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "fabric/base/text/utf8.h"
#include "services/control/state/queue_terms.h"
#include "services/json/strict_json.h"

namespace railweave::api {
namespace {

using control::ChangeJob;

void read_duration_change(ObjectReader& reader, std::string_view name,
                          std::optional<std::optional<std::int64_t>>& into) {
  if (!reader.has(name)) return;
  std::optional<std::string> text;
  reader.read(name, text);
  into.emplace();
  if (!text) return;
  *into = parse_duration_s(*text);
  if (!*into) reader.set_error(name, shown(*text) + " is no duration", "like PT36H or P1DT12H (ISO 8601)");
}

void read_not_before(ObjectReader& reader, ChangeJob& change) {
  if (!reader.has("notBefore")) return;
  std::optional<std::string> text;
  reader.read("notBefore", text);
  change.not_before_us = 0;
  if (!text) return;
  const auto time = parse_time_us(*text);
  if (!time) reader.set_error("notBefore", shown(*text) + " is no time", "like 2026-11-21T09:00:00Z (RFC 3339)");
  change.not_before_us = time.value_or(0);
}

// A field whose value may be null: what it stands for then.
template <class Value, class Read>
void read_or_null(const Json& body, ObjectReader& reader, const char* name, std::optional<Value>& into, Value of_null,
                  Read read) {
  if (!reader.has(name)) return;
  if (body.at(name).is_null()) {
    (void)reader.take(name);
    into = std::move(of_null);
    return;
  }
  into.emplace();
  read(*into);
}

void read_beside(ObjectReader& reader, const char* name, bool before, ChangeJob& change) {
  std::optional<std::string> text;
  reader.read_text(name, text);
  if (!text) return;
  const auto job = control::parse_job_id(*text);
  if (!job) return reader.set_error(name, shown(*text) + " is no job", "like job-000012");
  if (change.beside) return reader.set_error(name, "a job goes before or after another, not both");
  change.beside = ChangeJob::Beside{*job, before};
}

}  // namespace

Result<ChangeJob> read_job_change(control::JobId job, std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  ChangeJob change;
  change.id = job;
  ObjectReader reader(*value, "");
  read_or_null(*value, reader, "priority", change.priority, std::string("normal"),
               [&](std::string& into) { reader.read("priority", into); });
  read_or_null(*value, reader, "hold", change.hold, false, [&](bool& into) { reader.read("hold", into); });
  read_not_before(reader, change);
  read_duration_change(reader, "expectedDuration", change.expected_duration_s);
  read_duration_change(reader, "minRuntime", change.min_runtime_s);
  read_or_null(*value, reader, "excludeNodes", change.exclude_nodes, std::vector<std::string>(),
               [&](std::vector<std::string>& into) { reader.read("excludeNodes", into, 100'000); });
  read_beside(reader, "before", true, change);
  read_beside(reader, "after", false, change);
  reader.read("reason", change.reason);
  if (change.reason.size() > control::JobHold::kMaxReason || !is_printable_utf8(change.reason)) {
    reader.set_error("reason",
                     fmt::format("must be printable UTF-8 of at most {} bytes", control::JobHold::kMaxReason));
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return change;
}

}  // namespace railweave::api
