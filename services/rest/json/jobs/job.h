// Jobs, placements and rank maps as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/capacity/reservation.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/rank_order.h"
#include "scheduler/queue/cycle/wait_reason.h"
#include "services/control/decide/start_forecast.h"
#include "services/control/events/command.h"
#include "services/control/state/job.h"
#include "services/control/views/contention_book.h"
#include "services/rest/json/ranks/rank_text.h"

namespace railweave::api {

// The network part of a what-if: the guarantee that the job would get, or the links that it does not fit on.
struct PlacementPromise {
  const control::JobGuarantee* guarantee = nullptr;            // null: best effort
  const fabric::Reservation* reservation = nullptr;            // null: no traffic or no promise
  std::optional<ClassMarks> marks;                             // of its class
  std::uint16_t pkey = 0;                                      // of its tenant's contract; 0: none
  const std::vector<control::BlockedLink>* blocked = nullptr;  // links that are too full
};

// The answer to a what-if: outcome, and groups or explanation. with_ranks: the rank map too. contention: with the
// present jobs; null: unknown. compared: the alternatives with them, on the same basis. start: where it does not fit now,
// when it would if it queued; null: not asked.
std::string write_placement(const scheduler::JobSpec& spec, const scheduler::PlacementResult& result,
                            const scheduler::PlacementFabric& fabric, const MessageReader& reader, bool with_ranks,
                            const PlacementPromise& promise = {}, const control::JobContention* contention = nullptr,
                            std::span<const scheduler::Contention> compared = {},
                            const control::ExpectedStart* start = nullptr);

// The explanation alone, for the "explanation" member of problem documents.
std::string write_explanation(const scheduler::Explanation& explanation);

// What is told of a job beside what the state has of it; none: not known.
struct JobBeside {
  const scheduler::WaitReason* waits = nullptr;                     // as of the queue's last cycle
  std::optional<control::JobContention> contention = std::nullopt;  // with other placed jobs
  std::optional<scheduler::RankOrder> order = std::nullopt;         // of an adopted job
  std::optional<control::ExpectedStart> start = std::nullopt;       // of a waiting job
  control::StepTimesPtr steps = nullptr;                            // that it has reported
  bool guarantee_holds = false;                                     // it is in force; else planned, or at risk
};

// The answer of POST /v1/jobs and GET /v1/jobs/{id}.
std::string write_job(const control::Job& job, const scheduler::PlacementFabric& fabric, const MessageReader& reader,
                      const JobBeside& beside = {});
// A digest of what in write_job() changes without a new version of the job; "": nothing does.
std::string beside_digest(const JobBeside& beside);
// An item of GET /v1/jobs.
std::string write_job_line(const control::Job& job);

// Ranks [from, from + count) as a page: {"items": [...], "nextCursor", "seq"}. marks: for the
// environment of each rank.
std::string write_ranks(const control::Job& job, const scheduler::PlacementFabric& fabric, std::uint64_t from,
                        std::uint64_t count, std::uint64_t seq, const RankMarks& marks = {});

}  // namespace railweave::api
