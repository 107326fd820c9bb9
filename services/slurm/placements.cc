#include "services/slurm/placements.h"

#include "services/railweave/connection/target.h"

namespace railweave::slurm {
namespace {

using cli::Json;
using cli::Target;

constexpr int kMostAttempts =
    16;  // placements of one job that were ended by others, or because it could not begin there

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

Placed Placements::place(const SlurmJob& job, std::span<const std::string> only,
                         std::span<const std::string> excluded) {
  const auto body = job_body(owner_, job, only, excluded);
  if (!body) return {{}, {}, body.error().message};
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto request = cli::json_request(api::Method::post, Target("/v1/jobs"), *body);
    request.headers.add("Idempotency-Key", "slurm:" + owner_.cluster + ":" + job.key() + ":" +
                                               std::to_string(job.submitted_s) + ":" + std::to_string(attempt));
    ++calls_;
    const cli::Answer answer = service_.send(std::move(request), is_refusal);
    if (!is_refusal(answer.status)) {
      if (cli::text_of(answer.body, "state") != "placed") continue;  // an earlier one, which has ended
      return {cli::text_of(answer.body, "id"), nodes_of(answer.body), {}};
    }
    const std::string code = cli::text_of(answer.body, "code");
    // The key was used before the job was changed, or for another set of nodes: what it made may still hold GPUs.
    if (code == "idempotency.jobEnded" || code == "idempotency.keyReused") continue;
    return {{}, {}, cli::text_of(answer.body, "detail")};
  }
  return {{}, {}, "it was placed " + std::to_string(kMostAttempts) + " times and could not begin"};
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
