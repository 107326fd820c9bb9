// What the routes that change a job share: the command, the job as their answer, and what a member may ask for.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "services/rest/access/viewer.h"
#include "services/rest/handlers/jobs/job_answers.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/json/jobs/job.h"
#include "services/rest/json/jobs/job_batch.h"

namespace railweave::api {

// The job with its ETag: its version, then a digest of what changes without one. If-Match compares the version alone
// (route_table.cc).
Response job_answer(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job,
                    JobBeside beside, int status, const Viewer& viewer);

// The answer of a job's change, made of the state that holds it.
using MakeAnswer = std::function<Response(const control::Accepted&, const control::Job&, JobBeside)>;

// Hands the command to the control loop and answers with the job afterwards. The answer is made on the thread of
// `answers`; when too many answers wait there, on the control thread and without what is beside the job.
void submit_for_job(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                    decltype(control::Command::body) command, MakeAnswer make);
void submit_change(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                   decltype(control::Command::body) command);

PresentVersion present_job(const control::ClusterState& state, const Request& request);

// A member reads of full links what its own jobs hold of them, and the sums.
Problem refusal_for(const Request& request, const ControlPlane& plane, control::Rejection rejection);

// As an item of a batch's answer.
void add_problem(const Call& call, BatchAnswer& answer, const std::string& key, Problem problem);

// A member's jobs are its tenant's, also where the request leaves the tenant out.
Result<void> hold_to_own_tenant(const Request& request, scheduler::JobSpec& spec);

}  // namespace railweave::api
