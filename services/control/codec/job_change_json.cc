#include "services/control/codec/job_change_json.h"

#include "services/control/codec/event_body.h"
#include "services/control/codec/job_number.h"
#include "services/control/codec/message_json.h"

namespace railweave::api {
namespace {

using control::JobChanged;
using control::JobHeld;
using control::JobReordered;

// A number that need not be given. A form of record.h.
struct MaybeSeconds {
  static void read(ObjectReader& reader, std::string_view name, std::optional<std::int64_t>& into) {
    std::optional<std::uint64_t> seconds;
    reader.read(name, seconds);
    if (seconds) into = static_cast<std::int64_t>(*seconds);
  }
  static Out write(const std::optional<std::int64_t>& seconds) { return seconds ? Out(*seconds) : Out(nullptr); }
};

constexpr std::tuple kChangedFields{
    field("number", &JobChanged::id, JobNumber{}),
    field("priority", &JobChanged::priority),
    optional_field("notBeforeUs", &JobChanged::not_before_us),
    optional_field("expectedDurationS", &JobChanged::expected_duration_s, MaybeSeconds{}),
    optional_field("minRuntimeS", &JobChanged::min_runtime_s, MaybeSeconds{}),
    optional_field("excludeNodes", &JobChanged::exclude_nodes, Strings{}),
    field("text", &JobChanged::text, Said{})};
constexpr std::tuple kReorderedFields{
    field("number", &JobReordered::id, JobNumber{}), field("beside", &JobReordered::beside, JobNumber{}),
    field("before", &JobReordered::before), optional_field("reason", &JobReordered::reason)};
constexpr std::tuple kHeldFields{field("number", &JobHeld::id, JobNumber{}), field("held", &JobHeld::held),
                                 optional_field("byOperator", &JobHeld::by_operator),
                                 optional_field("reason", &JobHeld::reason)};

}  // namespace

Out to_json(const JobChanged& event) { return fields_json(event, kChangedFields); }
Out to_json(const JobReordered& event) { return fields_json(event, kReorderedFields); }
Out to_json(const JobHeld& event) { return fields_json(event, kHeldFields); }

std::optional<Result<control::EventBody>> job_change_from_json(std::string_view kind, const Json& data) {
  if (kind == "job.changed") return body_of<JobChanged>(data, kChangedFields);
  if (kind == "job.reordered") return body_of<JobReordered>(data, kReorderedFields);
  if (kind == "job.held" || kind == "job.released") return body_of<JobHeld>(data, kHeldFields);
  return std::nullopt;
}

}  // namespace railweave::api
