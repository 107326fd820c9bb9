#include "services/rest/json/queue/move.h"

#include <utility>

#include <fmt/core.h>

#include "services/json/contract_object.h"
#include "services/json/strict_json.h"
#include "services/rest/json/jobs/launch.h"

namespace railweave::api {
namespace {

using control::MoveTarget;

constexpr std::uint64_t kMaxMoveSteps = 256;

Out moved_gpu_json(const fabric::Topology& topology, fabric::GpuId gpu) {
  return object<"NodeGpu">(with<"node">(topology.name(topology.host(gpu))), with<"gpu">(topology.local_index(gpu)));
}

// Ranks that change their GPU.
Out moved_ranks_json(const control::ClusterState& state, const control::Job& job, const control::Move& move) {
  Out ranks = Out::array();
  const auto& now = job.placement.gpu_of_rank;
  for (std::size_t rank = 0; rank < move.gpu_of_rank.size(); ++rank) {
    if (rank < now.size() && now[rank] == move.gpu_of_rank[rank]) continue;
    const Out from = rank < now.size() ? moved_gpu_json(state.topology(), now[rank]) : Out(nullptr);
    ranks.push_back(object<"Moves.moves.ranks">(with<"rank">(rank), with<"from">(from),
                                                with<"to">(moved_gpu_json(state.topology(), move.gpu_of_rank[rank]))));
  }
  return ranks;
}

}  // namespace

Result<MoveTarget> move_target(const std::string& text) {
  if (text == "head") return MoveTarget{};
  if (text == "domains") return MoveTarget{MoveTarget::For::domains, {}};
  const auto job = control::parse_job_id(text);
  if (!job) {
    return fail(ErrorKind::invalid, "moves.invalidTarget", "jobs cannot move for " + shown(text), {},
                "head, domains, or a job like job-000012");
  }
  return MoveTarget{MoveTarget::For::job, *job};
}

Result<MoveTarget> read_move_target(std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  ObjectReader reader(*value, "");
  std::string text = "head";
  std::uint64_t steps = MoveTarget{}.most_steps;
  reader.read("for", text);
  reader.read("steps", steps);
  auto target = move_target(text);
  if (!target) {
    target.error().location = "/for";
    return target;
  }
  if (steps > kMaxMoveSteps) reader.set_error("steps", fmt::format("is above {}", kMaxMoveSteps));
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  target->most_steps = steps;
  return target;
}

std::string write_planned_moves(const control::ClusterState& state, const control::PlannedMoves& planned) {
  Out moves = Out::array();
  std::size_t gpus = 0;
  for (const auto& offer : planned.offers) {
    const auto job = state.jobs.find(offer.id);
    gpus += offer.move.gpu_of_rank.size();
    moves.push_back(object<"Defragmentation.steps.moves">(with<"job">(control::to_string(offer.id)),
                                                          with<"costGpuSeconds">(offer.move.lost_gpu_s),
                                                          with<"ranks">(moved_ranks_json(state, *job, offer.move))));
  }
  Out step =
      object<"Defragmentation.steps">(with<"frees">(planned.frees), with<"freedGpus">(gpus),
                                      with<"costGpuSeconds">(planned.lost_gpu_s), with<"moves">(std::move(moves)));
  const bool is_for_job = planned.in_favour_of != control::JobId();
  return dump(object<"Defragmentation">(
      with<"inFavourOf">(is_for_job ? Out(control::to_string(planned.in_favour_of)) : Out(nullptr)),
      with<"steps">(Out::array({std::move(step)})), with<"seq">(state.seq)));
}

std::string write_moves(const control::ClusterState& state, std::int64_t now_us, const MessageReader& reader) {
  Out moves = Out::array();
  for (const auto id : state.moves->jobs) {
    const auto job = state.jobs.find(id);
    moves.push_back(object<"Moves.moves">(with<"job">(control::to_string(id)), with<"tenant">(job->spec.tenant),
                                          with<"plan">(job->move->plan), part<"JobMove">(move_json(*job, reader)),
                                          with<"ranks">(moved_ranks_json(state, *job, *job->move))));
  }
  const auto left = control::move_budget(state, now_us);
  return dump(object<"Moves">(with<"moves">(std::move(moves)), with<"budgetLeftGpuSeconds">(left.gpu_s),
                              with<"jobsLeft">(left.jobs), with<"seq">(state.seq)));
}

}  // namespace railweave::api
