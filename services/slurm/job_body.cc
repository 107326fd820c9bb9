#include "services/slurm/job_body.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"

namespace railweave::slurm {
namespace {

using cli::Json;

constexpr std::size_t kMaxNames = 4096;  // of the contract
constexpr std::string_view kWord = "railweave:";

std::unexpected<Error> refuse(std::string why) { return fail(ErrorKind::invalid, "slurm.badJob", std::move(why)); }

const std::map<std::string_view, const char*> kFactors{
    {"tp", "tensor"}, {"pp", "pipeline"}, {"dp", "data"}, {"cp", "context"}, {"ep", "expert"}};

Result<std::uint64_t> positive(std::string_view word, std::string_view value) {
  if (const auto number = whole_number<std::uint64_t>(value, 1'048'576); number && *number > 0) return *number;
  return refuse(fmt::format("the comment's {} is no number from 1 on", word));
}

Result<void> read_word(std::string_view name, std::string_view value, Json& body) {
  if (const auto factor = kFactors.find(name); factor != kFactors.end()) {
    const auto number = positive(name, value);
    if (!number) return std::unexpected(number.error());
    body["parallelism"][factor->second] = *number;
  } else if (name == "guarantee") {
    const auto number = positive(name, value);
    if (!number) return std::unexpected(number.error());
    body["bandwidth"]["guaranteedGbpsPerPort"] = *number;
  } else if (name == "class") {
    body["bandwidth"]["qosClass"] = value;
  } else if (name == "level") {
    body["topology"]["job"]["required"] = value;
  } else if (name == "priority") {
    body["priority"] = value;
  } else if (name == "checkpointable" && value.empty()) {
    body["launcher"]["checkpointable"] = true;
  } else if (name == "tolerate" && !value.empty()) {
    const std::size_t equals = value.find('=');
    Json toleration{{"key", value.substr(0, equals)}};
    if (equals != std::string_view::npos) toleration["value"] = value.substr(equals + 1);
    body["tolerations"].push_back(std::move(toleration));
  } else {
    return refuse(
        fmt::format("the comment's '{}' is none of tp, pp, dp, cp, ep, guarantee, class, level, priority, tolerate and "
                    "checkpointable",
                    name));
  }
  return {};
}

Result<void> read_comment(std::string_view comment, Json& body) {
  const std::size_t at = comment.find(kWord);
  if (at == std::string_view::npos) return {};
  comment.remove_prefix(at + kWord.size());
  while (!comment.empty()) {
    const std::string_view word = comment.substr(0, comment.find_first_of(" ,;"));
    comment.remove_prefix(std::min(comment.size(), word.size() + 1));
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (const auto done = read_word(word.substr(0, equals), value, body); !done) return done;
  }
  return {};
}

// The data-parallel ranks are what the other factors leave.
Result<void> fill_data(const SlurmJob& job, Json& body) {
  Json& factors = body["parallelism"];
  std::uint64_t others = 1;
  for (const char* factor : {"tensor", "pipeline", "context", "expert"})
    others *= factors.value(factor, std::uint64_t{1});
  if (!factors.contains("data") && job.gpus % others == 0) factors["data"] = job.gpus / others;
  if (factors.value("data", std::uint64_t{0}) * others == job.gpus) return {};
  return refuse(fmt::format("the job has {} GPUs, which its parallelism does not divide", job.gpus));
}

}  // namespace

std::string placement_name(const std::string& cluster, const std::string& key) {
  return "slurm/" + cluster + "/" + key;
}

std::string key_of_placement(const std::string& cluster, const std::string& name) {
  const std::string prefix = "slurm/" + cluster + "/";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
}

bool is_checkpointable(const SlurmJob& job) {
  Json body;
  return read_comment(job.comment, body) && body.contains("launcher");
}

Result<Json> job_body(const Owner& owner, const SlurmJob& job, const Running* running, const NodeChoice& choice) {
  const bool exact = running != nullptr && !running->ranks.empty();
  if (job.nodes == 0) return refuse("its number of nodes is not known");
  if (job.gpus == 0) return refuse("it asks for no GPUs");
  if (!exact && job.gpus % job.nodes != 0) return refuse("its GPUs are not the same number on each node");
  Json body;
  body["name"] = placement_name(owner.cluster, job.key());
  body["tenant"] = job.account.empty() ? owner.tenant : job.account;
  body["parallelism"] = Json::object();
  auto asked = read_comment(job.comment, body);
  if (asked) asked = fill_data(job, body);
  if (!asked && running == nullptr) return std::unexpected(asked.error());
  if (!asked) {  // it runs, whatever its comment says
    body.erase("bandwidth");
    body.erase("topology");
    body.erase("priority");
    body["parallelism"] = {{"data", job.gpus}};
  }
  body["external"] = {{"scheduler", "slurm"}, {"id", job.id}};
  constexpr std::size_t kLongestPart = 253;  // of the contract; of a job that may run in very many it is not said
  if (!job.needs.partition.empty() && job.needs.partition.size() <= kLongestPart)
    body["external"]["part"] = job.needs.partition;
  if (job.time_limit_s > 0) body["expectedDuration"] = fmt::format("PT{}S", job.time_limit_s);
  const auto seconds = [](std::int64_t s) { return fmt::format("PT{}S", s); };
  body["launcher"]["acceptWithin"] = seconds(owner.accept_s);
  body["launcher"]["notice"] = seconds(owner.notice_s);
  body["launcher"]["releaseWithin"] = seconds(owner.release_s);
  if (job.exclusive && running == nullptr) body["topology"]["exclusive"] = "node";
  if (exact) {
    for (const RankRun& run : running->ranks)
      body["adopt"]["ranks"].push_back({{"node", run.node}, {"gpus", run.gpus}});
    return body;
  }
  body["gpusPerNode"] = job.gpus / job.nodes;
  if (running == nullptr && !choice.excluded.empty() && choice.allowed.size() < job.nodes) {
    return refuse(fmt::format("Slurm has {} nodes for it now, and it needs {}", choice.allowed.size(), job.nodes));
  }
  if (running != nullptr) {
    body["nodes"] = running->nodes;
  } else if (choice.excluded.size() <= kMaxNames) {
    if (!choice.excluded.empty()) body["excludeNodes"] = choice.excluded;
  } else {
    body["nodes"] = choice.allowed;
  }
  return body;
}

}  // namespace railweave::slurm
