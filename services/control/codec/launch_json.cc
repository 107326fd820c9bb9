#include "services/control/codec/launch_json.h"

#include "services/control/codec/event_body.h"
#include "services/control/codec/job_number.h"
#include "services/control/codec/message_json.h"

namespace railweave::api {
namespace {

using namespace control;  // NOLINT: this file is about its types

constexpr ByText kLaunchPhase{[](LaunchPhase phase) { return control::to_string(phase); },
                              [](std::string_view text) { return parse_enum<LaunchPhase>(text); }, "launch phase"};
constexpr ByText kBecomes{[](JobState state) { return control::to_string(state); },
                          [](std::string_view text) { return parse_enum<JobState>(text); }, "job state"};

constexpr auto term(std::int64_t LaunchTerms::* member) {
  return [member](auto& launch) -> auto& { return launch.terms.*member; };
}

constexpr std::tuple kLaunchFields{
    field("acceptUs", term(&LaunchTerms::accept_us)),
    field("runUs", term(&LaunchTerms::run_us)),
    field("noticeUs", term(&LaunchTerms::notice_us)),
    field("releaseUs", term(&LaunchTerms::release_us)),
    optional_field("checkpointable", [](auto& launch) -> auto& { return launch.terms.checkpointable; }),
    field("requeues", &Launch::requeues),
    required_field("phase", &Launch::phase, kLaunchPhase),
    optional_field("deadlineUs", &Launch::deadline_us),
    optional_field("overdue", &Launch::overdue),
    optional_field("expired", &Launch::expired),
    optional_field("becomes", &Launch::becomes, kBecomes),
    optional_field("inFavourOf", &Launch::in_favour_of, JobNumber{}),
    optional_field("lostGpuSeconds", &Launch::lost_gpu_s),
    optional_field("reason", &Launch::reason, Said{}),
    optional_field("freed", &Launch::freed, Strings{}),
    optional_field("left", &Launch::left, Strings{})};
constexpr std::tuple kAcceptedFields{field("number", &JobAccepted::id, JobNumber{})};
constexpr std::tuple kRunningFields{field("number", &JobRunning::id, JobNumber{})};
constexpr std::tuple kReleasingFields{field("number", &JobReleasing::id, JobNumber{}),
                                      required_field("becomes", &JobReleasing::becomes, kBecomes),
                                      optional_field("inFavourOf", &JobReleasing::in_favour_of, JobNumber{}),
                                      field("lostGpuSeconds", &JobReleasing::lost_gpu_s),
                                      field("reason", &JobReleasing::reason, Said{}),
                                      optional_field("moves", &JobReleasing::moves)};
constexpr std::tuple kFreedFields{field("number", &JobFreed::id, JobNumber{}),
                                  field("nodes", &JobFreed::nodes, Strings{})};
constexpr std::tuple kOverdueFields{field("number", &JobOverdue::id, JobNumber{})};
constexpr std::tuple kExpiredFields{field("number", &OfferExpired::id, JobNumber{}),
                                    field("untilUs", &OfferExpired::until_us),
                                    field("reason", &OfferExpired::reason, Said{})};

}  // namespace

Out to_json(const Launch& launch) { return fields_json(launch, kLaunchFields); }
Result<Launch> launch_from_json(const Json& value, const std::string& pointer) {
  return record_from_json<Launch>(value, pointer, kLaunchFields);
}

Out to_json(const JobAccepted& event) { return fields_json(event, kAcceptedFields); }
Out to_json(const JobRunning& event) { return fields_json(event, kRunningFields); }
Out to_json(const JobReleasing& event) { return fields_json(event, kReleasingFields); }
Out to_json(const JobFreed& event) { return fields_json(event, kFreedFields); }
Out to_json(const JobOverdue& event) { return fields_json(event, kOverdueFields); }
Out to_json(const OfferExpired& event) { return fields_json(event, kExpiredFields); }

std::optional<Result<EventBody>> launch_event_from_json(std::string_view kind, const Json& data) {
  if (kind == "job.accepted") return body_of<JobAccepted>(data, kAcceptedFields);
  if (kind == "job.running") return body_of<JobRunning>(data, kRunningFields);
  if (kind == "job.releasing") return body_of<JobReleasing>(data, kReleasingFields);
  if (kind == "job.freed") return body_of<JobFreed>(data, kFreedFields);
  if (kind == "job.overdue") return body_of<JobOverdue>(data, kOverdueFields);
  if (kind == "job.offerExpired") return body_of<OfferExpired>(data, kExpiredFields);
  return std::nullopt;
}

}  // namespace railweave::api
