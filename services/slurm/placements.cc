#include "services/slurm/placements.h"

#include <algorithm>

#include "services/railweave/connection/target.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::slurm {
namespace {

using cli::Json;
using cli::Target;

constexpr int kMostAttempts =
    16;  // placements of one job that were ended by others, or because it could not begin there

constexpr std::size_t kMostOfBatch = 1000;        // of the contract
constexpr std::size_t kMostBatchBytes = 500'000;  // of a batch, unless one job is larger

std::vector<std::string> nodes_of(const Json& job) {
  std::vector<std::string> nodes;
  for (const Json& node : cli::list(job, "nodeList")) nodes.push_back(cli::text_of(node));
  return nodes;
}

// What the job is refused for, as opposed to a service that cannot decide now.
bool is_refusal(int status) { return status == 400 || status == 403 || status == 409 || status == 422; }

}  // namespace

std::map<std::string, std::string> Placements::active() {
  std::map<std::string, std::string> active;
  ++calls_;
  service_.each_item(
      Target("/v1/jobs").query("state", "placed"), 0,
      [&](const Json& job) {
        const std::string key = key_of_placement(owner_.cluster, cli::text_of(job, "name"));
        if (!key.empty()) active[key] = cli::text_of(job, "id");
      },
      [&] { active.clear(); });
  return active;
}

// A job that has no answer yet.
struct Placements::Open {
  std::size_t at;  // in the list of asks
  std::string key;
  Json body;
  bool done = false;
};

std::vector<Placed> Placements::place(std::span<const Ask> asks, std::span<const std::string> excluded) {
  std::vector<Placed> placed(asks.size());
  std::vector<Open> open;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const SlurmJob& job = *asks[i].job;
    auto body = job_body(owner_, job, asks[i].only, excluded);
    if (body)
      open.push_back({i, "slurm:" + owner_.cluster + ":" + job.key() + ":" + std::to_string(job.submitted_s), *body});
    else
      placed[i].reason = body.error().message;
  }
  for (int attempt = 0; attempt < kMostAttempts && !open.empty(); ++attempt) {
    for (std::size_t from = 0, to = 0; from < open.size(); from = to) {
      for (std::size_t bytes = 0;
           to < open.size() && to - from < kMostOfBatch && (to == from || bytes < kMostBatchBytes); ++to)
        bytes += cli::compact_json(open[to].body).size();
      submit(std::span(open).subspan(from, to - from), attempt, placed);
    }
    std::erase_if(open, [](const Open& one) { return one.done; });
  }
  for (const Open& one : open)
    placed[one.at].reason = "it was placed " + std::to_string(kMostAttempts) + " times and could not begin";
  return placed;
}

void Placements::submit(std::span<Open> batch, int attempt, std::vector<Placed>& placed) {
  Json items = Json::array();
  for (Open& one : batch) {
    one.body["key"] = one.key + ":" + std::to_string(attempt);
    items.push_back(one.body);
  }
  ++calls_;
  const Json answer = service_.post(Target("/v1/jobs/batch"), {{"items", std::move(items)}});
  const Json& answers = cli::list(answer, "items");
  for (std::size_t i = 0; i < batch.size() && i < answers.size(); ++i) {
    Placed& into = placed[batch[i].at];
    const Json& job = cli::field(answers[i], "job");
    if (!job.is_null()) {
      batch[i].done = cli::text_of(job, "state") == "placed";  // else an earlier one, which has ended
      if (batch[i].done) into = {cli::text_of(job, "id"), nodes_of(job), {}};
      continue;
    }
    const Json& problem = cli::field(answers[i], "problem");
    const int status = static_cast<int>(cli::count_of(answers[i], "status"));
    if (!is_refusal(status)) throw cli::CommandFailure(cli::problem_error(status, problem.dump(), service_.url()));
    const std::string code = cli::text_of(problem, "code");
    // The key was used before the job was changed, or for another set of nodes: what it made may still hold GPUs.
    batch[i].done = code != "idempotency.jobEnded" && code != "idempotency.keyReused";
    if (batch[i].done) into.reason = cli::text_of(problem, "detail");
  }
}

std::vector<std::string> Placements::nodes(const std::string& id) {
  ++calls_;
  return nodes_of(service_.get(Target("/v1/jobs").segment(id)));
}

JobRanks Placements::ranks(const Placed& placed) {
  ++calls_;
  auto ranks = read_rank_lines(
      placed.id, service_.get_text(Target("/v1/jobs").segment(placed.id).path("/ranks").query("format", "nccl")));
  if (ranks && !ranks->nodes.empty()) return std::move(*ranks);
  return {.placement = placed.id, .nodes = placed.nodes};
}

void Placements::end(const std::string& id, const std::string& reason) {
  api::ClientRequest request;
  request.method = api::Method::post;
  request.target = Target("/v1/jobs").segment(id).path("/complete").query("reason", reason).text();
  ++calls_;
  service_.send(std::move(request), [](int status) { return status == 404 || status == 409; });
}

}  // namespace railweave::slurm
