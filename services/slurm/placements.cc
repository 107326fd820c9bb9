#include "services/slurm/placements.h"

#include <algorithm>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "services/railweave/connection/target.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::slurm {
namespace {

using cli::Json;
using cli::Target;

constexpr int kMaxAttempts =
    16;  // placements of one job that were ended by others, or because it could not begin there

constexpr std::size_t kMaxOfBatch = 1000;        // of the contract
constexpr std::size_t kMaxBatchBytes = 500'000;  // of a batch, unless one job is larger

std::vector<std::string> nodes_of(const Json& job) {
  std::vector<std::string> nodes;
  for (const Json& node : cli::list(job, "nodeList")) nodes.push_back(cli::text_of(node));
  return nodes;
}

Held::Phase phase_of(const Json& job) {
  const std::string phase = cli::text_of(job, "phase");
  if (phase == "offered") return Held::Phase::offered;
  if (phase == "accepted") return Held::Phase::accepted;
  return phase == "releasing" ? Held::Phase::releasing : Held::Phase::running;
}

// What the job is refused for, as opposed to a service that cannot decide now.
bool is_refusal(int status) { return status == 400 || status == 403 || status == 409 || status == 422; }

}  // namespace

Placements::Active Placements::active() {
  Active active;
  ++calls_;
  service_.each_item(
      Target("/v1/jobs").query("state", "placed").query("fields", "id,name,phase"), 0,
      [&](const Json& job) {
        const std::string key = key_of_placement(owner_.cluster, cli::text_of(job, "name"));
        if (key.empty()) return;
        const Held held{cli::text_of(job, "id"), phase_of(job)};
        if (!active.by_key.try_emplace(key, held).second) active.doubles.push_back(held);
      },
      [&] { active = {}; });
  return active;
}

// A job that has no answer yet.
struct Placements::Open {
  std::size_t at;  // in the list of asks
  std::string key;
  Json body;
  bool done = false;
};

std::string Placements::block_level() {
  ++calls_;
  const Json answer = service_.get(Target("/v1/nvlink-domains").query("limit", "1"));
  const Json& domains = cli::list(answer, "items");
  return !domains.empty() && cli::list(domains.front(), "nodes").size() > 1 ? "nvlinkDomain" : "leafGroup";
}

std::vector<Placed> Placements::place(std::span<const Ask> asks, const Blocks* blocks) {
  std::vector<Placed> placed(asks.size());
  std::vector<Open> open;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const SlurmJob& job = *asks[i].job;
    auto body = job_body(owner_, job, asks[i].running, asks[i].choice);
    if (body) (*body)["external"]["step"] = to_string(asks[i].step);
    if (body && !asks[i].advice.text.empty()) (*body)["external"]["advice"] = asks[i].advice.text;
    if (body && asks[i].advice.gain_permille) (*body)["external"]["gainPermille"] = *asks[i].advice.gain_permille;
    if (body && blocks != nullptr) keep_in_blocks(*blocks, job.nodes, job.gpus / std::max(1U, job.nodes), *body);
    if (body)
      open.push_back({i,
                      fmt::format("slurm:{}:{}:{}{}", owner_.cluster, job.key(), job.submitted_s,
                                  asks[i].running == nullptr ? "" : ":runs"),
                      *body});
    else
      placed[i].reason = body.error().message;
  }
  for (int attempt = 0; attempt < kMaxAttempts && !open.empty(); ++attempt) {
    for (std::size_t from = 0, to = 0; from < open.size(); from = to) {
      for (std::size_t bytes = 0; to < open.size() && to - from < kMaxOfBatch && (to == from || bytes < kMaxBatchBytes);
           ++to)
        bytes += cli::compact_json(open[to].body).size();
      submit(std::span(open).subspan(from, to - from), attempt, placed);
    }
    std::erase_if(open, [](const Open& one) { return one.done; });
  }
  for (const Open& one : open) {
    placed[one.at].reason = fmt::format("it was placed {} times and could not begin", kMaxAttempts);
    placed[one.at].gave_up = true;
  }
  return placed;
}

void Placements::submit(std::span<Open> batch, int attempt, std::vector<Placed>& placed) {
  Json items = Json::array();
  for (Open& one : batch) {
    one.body["key"] = fmt::format("{}:{}", one.key, attempt);
    items.push_back(one.body);
  }
  ++calls_;
  const Json answer = service_.post(Target("/v1/jobs/batch"), {{"items", std::move(items)}});
  const Json& answers = cli::list(answer, "items");
  for (std::size_t i = 0; i < batch.size() && i < answers.size(); ++i) {
    Placed& into = placed[batch[i].at];
    const Json& job = cli::field(answers[i], "job");
    if (!job.is_null()) {
      const std::string state = cli::text_of(job, "state");
      batch[i].done = state == "placed" && cli::text_of(job, "phase") != "releasing";  // else an earlier one
      // One that was evicted before it was accepted waits in Railweave: Slurm's queue is the one that counts.
      if (state == "queued") say(Target("/v1/jobs").segment(cli::text_of(job, "id")), api::Method::del);
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
    // No time makes a tenant of its account: it is not for Railweave to decide.
    into.gave_up = code.starts_with("tenants.");
  }
}

Advice Placements::advice(const SlurmJob& job, const NodeChoice& choice) {
  auto body = job_body(owner_, job, nullptr, choice);
  if (!body) return {};
  ++calls_;
  const Json answer =
      service_.post(Target("/v1/placements/advice"), {{"job", std::move(*body)}, {"nodes", job.running}});
  const Json& gain = cli::field(answer, "gainPermille");
  return {cli::text_of(answer, "advice"),
          gain.is_number_unsigned() ? std::optional(gain.get<std::uint32_t>()) : std::nullopt};
}

std::map<std::string, std::uint64_t> Placements::fabric_nodes() {
  std::map<std::string, std::uint64_t> nodes;
  ++calls_;
  service_.each_item(
      Target("/v1/nodes").query("fields", "id,gpus"), 0,
      [&](const Json& node) { nodes[cli::text_of(node, "id")] = node.value("gpus", std::uint64_t{0}); },
      [&] { nodes.clear(); });
  return nodes;
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

bool Placements::say(const Target& target, api::Method method) {
  api::ClientRequest request;
  request.method = method;
  request.target = target.text();
  ++calls_;
  return service_.send(std::move(request), [](int status) { return status == 404 || status == 409; }).status < 300;
}

bool Placements::accept(const std::string& id) { return say(Target("/v1/jobs").segment(id).path("/accept")); }

void Placements::running(const std::string& id) { say(Target("/v1/jobs").segment(id).path("/running")); }

void Placements::release(const std::string& id, const std::string& reason) {
  say(Target("/v1/jobs").segment(id).path("/complete").query("reason", reason));
}

void Placements::end(const Held& held, const std::string& reason) {
  const bool ran = held.phase == Held::Phase::running || held.phase == Held::Phase::releasing;
  const Target job = Target("/v1/jobs").segment(held.id);
  if (ran) {
    say(Target(job).path("/complete").query("freed", "true").query("reason", reason));
  } else {
    say(Target(job).query("freed", "true").query("reason", reason), api::Method::del);
  }
}

std::vector<std::string> Placements::offered_moves() {
  ++calls_;
  std::vector<std::string> ids;
  const Json answer = service_.get(Target("/v1/queue/moves"));
  for (const Json& move : cli::list(answer, "moves")) {
    if (cli::text_of(move, "state") == "offered") ids.push_back(cli::text_of(move, "job"));
  }
  return ids;
}

void Placements::answer_move(const std::string& id, bool accept) {
  say(Target("/v1/jobs").segment(id).path(accept ? "/move/accept" : "/move/decline"));
}

bool is_moving(const Json& job) {
  return cli::text_of(cli::field(cli::field(job, "launcher"), "move"), "state") == "moving";
}

bool Placements::is_moving(const std::string& id) {
  ++calls_;
  return slurm::is_moving(service_.get(Target("/v1/jobs").segment(id)));
}

std::optional<Held::Phase> Placements::freed(const std::string& id) {
  say(Target("/v1/jobs").segment(id).path("/freed"));
  ++calls_;
  const Json job = service_.get(Target("/v1/jobs").segment(id));
  if (cli::text_of(job, "state") != "placed") return std::nullopt;
  return phase_of(job);
}

bool Placements::starts_again(const std::string& id) {
  ++calls_;
  const Json job = service_.get(Target("/v1/jobs").segment(id));
  const Json& history = cli::list(job, "history");
  for (auto line = history.rbegin(); line != history.rend(); ++line) {
    const std::string code = cli::text_of(cli::field(*line, "message"), "code");
    if (code == "move.moved") return true;
    if (code == "launch.running") return false;
  }
  return false;
}

std::optional<Leave> Placements::leave(const std::string& id) {
  ++calls_;
  const Json job = service_.get(Target("/v1/jobs").segment(id));
  if (phase_of(job) != Held::Phase::releasing) return std::nullopt;
  const Json& launcher = cli::field(job, "launcher");
  const Json& release = cli::field(launcher, "release");
  Leave leave{.to_queue = cli::text_of(release, "becomes") == "queued",
              .in_favour_of = cli::field(release, "inFavourOf").is_null() ? "" : cli::text_of(release, "inFavourOf")};
  // The notice is what comes before the time to free the GPUs; an eviction alone has one.
  const auto deadline_us = parse_time_us(cli::text_of(launcher, "deadline"));
  const auto release_s = parse_duration_s(cli::text_of(launcher, "releaseWithin"));
  if (leave.to_queue && deadline_us && release_s) leave.at_s = *deadline_us / 1'000'000 - *release_s;
  return leave;
}

}  // namespace railweave::slurm
