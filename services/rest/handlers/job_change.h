// Changes of one job: the command goes to the control loop, the answer is the job as it is afterwards.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "api/http/dispatch/responder.h"
#include "services/rest/handlers/job_answers.h"
#include "services/rest/handlers/route_table.h"

namespace railweave::api {

// The job with its ETag: its version, then a digest of its contention. If-Match compares the version alone
// (route_table.cc).
Response job_answer(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job,
                    std::optional<control::JobContention> contention, int status, bool to_member);

// The answer of a job's change, made of the state that holds it.
using MakeAnswer = std::function<Response(const control::Accepted&, const control::Job&,
                                          const std::optional<control::JobContention>&)>;

// Hands the command to the control loop and answers with the job afterwards. The answer is made on the thread of
// `answers`; when too many answers wait there, on the control thread and without contention.
void submit_for_job(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                    decltype(control::Command::body) command, MakeAnswer make);
// The same with the answer 200.
void submit_change(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                   decltype(control::Command::body) command);

// The version that If-Match is compared with.
PresentVersion present_job(const control::ClusterState& state, const Request& request);

// Adds what launchers say (launch_handlers.cc).
void add_launch_routes(RouteTable& routes, const std::shared_ptr<JobAnswers>& answers);

}  // namespace railweave::api
