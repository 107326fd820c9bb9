#include "services/control/codec/job_json.h"

#include <utility>

#include "services/control/codec/guarantee_json.h"
#include "services/control/codec/job_spec_json.h"
#include "services/control/codec/prediction_json.h"

namespace railweave::api {
namespace {

using control::Job;
using control::JobChange;

Result<std::vector<JobChange>> history_from_json(const Json& value) {
  std::vector<JobChange> history;
  for (const auto& item : value) {
    ObjectReader reader(item, "/history");
    JobChange change;
    std::uint64_t time_us = 0;
    std::string state;
    reader.read("timeUs", time_us);
    reader.read("seq", change.seq);
    reader.read("state", state);
    reader.read("reason", change.reason);
    reader.read("actor", change.actor);
    if (auto done = reader.finish(); !done) return std::unexpected(done.error());
    change.time_us = static_cast<std::int64_t>(time_us);
    const auto parsed = parse_enum<control::JobState>(state);
    if (!parsed) return fail(ErrorKind::internal, "journal.unreadable", "no job state '" + state + "'");
    change.state = *parsed;
    history.push_back(std::move(change));
  }
  return history;
}

}  // namespace

std::optional<fabric::LevelKind> level_named(std::string_view name) {
  using fabric::LevelKind;
  for (const auto kind : {LevelKind::nvlink_domain, LevelKind::node, LevelKind::rack, LevelKind::leaf_group,
                          LevelKind::pod, LevelKind::cluster, LevelKind::site, LevelKind::wan}) {
    if (name == fabric::to_string(kind)) return kind;
  }
  return std::nullopt;
}

Out ranks_to_json(const fabric::Topology& topology, const std::vector<fabric::GpuId>& gpu_of_rank) {
  Out runs = Out::array();
  fabric::HostId last;
  for (const auto gpu : gpu_of_rank) {
    const auto host = topology.host(gpu);
    if (host != last) runs.push_back(Out::array({topology.name(host), Out::array()}));
    last = host;
    runs.back()[1].push_back(topology.local_index(gpu));
  }
  return runs;
}

Result<std::vector<fabric::GpuId>> ranks_from_json(const fabric::Topology& topology, const Json& value) {
  const auto unreadable = [](const std::string& what) {
    return fail(ErrorKind::internal, "journal.unreadable", "a job's ranks cannot be read: " + what);
  };
  if (!value.is_array()) return unreadable("not a list");
  std::vector<fabric::GpuId> gpus;
  for (const auto& run : value) {
    if (!run.is_array() || run.size() != 2 || !run[0].is_string() || !run[1].is_array())
      return unreadable("not [node, gpus]");
    const auto host = topology.find_host(run[0].get_ref<const std::string&>());
    if (!host) return unreadable("no node " + run[0].dump());
    for (const auto& gpu : run[1]) {
      if (!gpu.is_number_unsigned() || gpu.get<std::uint64_t>() >= topology.gpus(host).size()) {
        return unreadable("no GPU " + gpu.dump() + " on " + run[0].dump());
      }
      gpus.push_back(topology.gpus(host)[gpu.get<std::size_t>()]);
    }
  }
  return gpus;
}

Out job_to_json(const Job& job, const fabric::Topology& topology) {
  Out history = Out::array();
  for (const auto& change : job.history) {
    history.push_back({{"timeUs", change.time_us},
                       {"seq", change.seq},
                       {"state", control::to_string(change.state)},
                       {"reason", change.reason},
                       {"actor", change.actor}});
  }
  Out value{{"number", job.id.number()},
            {"spec", to_json(job.spec)},
            {"state", control::to_string(job.state)},
            {"submittedUs", job.submitted_us},
            {"notBeforeUs", job.not_before_us},
            {"startedUs", job.started_us},
            {"savedUs", job.saved_us},
            {"waits", job.waits},
            {"damage", job.damage},
            {"endedUs", job.ended_us},
            {"idempotencyKey", job.idempotency_key},
            {"requestDigest", job.request_digest},
            {"level", fabric::to_string(job.placement.level)},
            {"blockGpus", job.placement.block_gpus},
            {"nodesUsed", job.placement.nodes_used},
            {"domainsUsed", job.placement.domains_used},
            {"groupsAtLevel", job.placement.groups_at_level},
            {"dataRingsOnRails", job.placement.data_rings_on_rails},
            {"ranks", ranks_to_json(topology, job.placement.gpu_of_rank)},
            {"nodes", job.nodes},
            {"history", history},
            {"version", job.version}};
  if (!job.placement.idle_gpus.empty()) value["idle"] = ranks_to_json(topology, job.placement.idle_gpus);
  if (job.placement.predicted) value["predicted"] = to_json(*job.placement.predicted);
  if (job.guarantee) value["guarantee"] = to_json(*job.guarantee);
  return value;
}

Result<std::shared_ptr<Job>> job_from_json(const Json& value, const fabric::Topology& topology) {
  auto job = std::make_shared<Job>();
  ObjectReader reader(value, "");
  std::uint64_t number = 0;
  std::uint64_t submitted_us = 0;
  std::uint64_t ended_us = 0;
  std::string state;
  std::string level;
  reader.read("number", number);
  reader.read("state", state);
  reader.read("submittedUs", submitted_us);
  reader.read("endedUs", ended_us);
  reader.read("idempotencyKey", job->idempotency_key);
  reader.read("requestDigest", job->request_digest);
  // Not in what the first versions wrote:
  std::uint64_t not_before_us = 0;
  std::uint64_t started_us = 0;
  std::uint64_t saved_us = 0;
  job->placement.block_gpus = 0;
  reader.read("notBeforeUs", not_before_us);
  reader.read("startedUs", started_us);
  reader.read("savedUs", saved_us);
  reader.read("waits", job->waits);
  reader.read("damage", job->damage);
  reader.read("blockGpus", job->placement.block_gpus);
  reader.read("level", level);
  reader.read("nodesUsed", job->placement.nodes_used);
  reader.read("domainsUsed", job->placement.domains_used);
  reader.read("groupsAtLevel", job->placement.groups_at_level);
  reader.read("dataRingsOnRails", job->placement.data_rings_on_rails);
  reader.read("nodes", job->nodes, SIZE_MAX);
  reader.read("version", job->version);
  const Json* spec = reader.take("spec");
  const Json* ranks = reader.take("ranks");
  const Json* idle = reader.take("idle");  // most jobs hold none
  const Json* history = reader.take("history");
  const Json* predicted = reader.take("predicted");  // jobs of before there were predictions have none
  const Json* guarantee = reader.take("guarantee");
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  const auto parsed_state = parse_enum<control::JobState>(state);
  const auto parsed_level = level_named(level);
  if (!parsed_state || !parsed_level || spec == nullptr || ranks == nullptr || history == nullptr || number == 0) {
    return fail(ErrorKind::internal, "journal.unreadable", "a job lacks a field it must have");
  }
  job->id = control::JobId(number);
  job->state = *parsed_state;
  job->submitted_us = static_cast<std::int64_t>(submitted_us);
  job->ended_us = static_cast<std::int64_t>(ended_us);
  job->placement.level = *parsed_level;
  auto read_spec = job_spec_from_json(*spec, "/spec");
  if (!read_spec) return std::unexpected(read_spec.error());
  job->spec = std::move(*read_spec);
  job->not_before_us = static_cast<std::int64_t>(not_before_us);
  job->saved_us = static_cast<std::int64_t>(saved_us);
  job->started_us = static_cast<std::int64_t>(started_us);
  if (job->started_us == 0 && job->state == control::JobState::placed) job->started_us = job->submitted_us;
  if (job->placement.block_gpus == 0) job->placement.block_gpus = job->spec.parallelism.tensor;
  if (predicted != nullptr) {
    auto prediction = prediction_from_json(*predicted, "/predicted");
    if (!prediction) return std::unexpected(prediction.error());
    job->placement.predicted = std::move(*prediction);
  }
  if (guarantee != nullptr) {
    auto read = guarantee_from_json(*guarantee, "/guarantee");
    if (!read) return std::unexpected(read.error());
    job->guarantee = std::move(*read);
  }
  auto gpus = ranks_from_json(topology, *ranks);
  if (!gpus) return std::unexpected(gpus.error());
  job->placement.gpu_of_rank = std::move(*gpus);
  if (idle != nullptr) {
    auto idle_gpus = ranks_from_json(topology, *idle);
    if (!idle_gpus) return std::unexpected(idle_gpus.error());
    job->placement.idle_gpus = std::move(*idle_gpus);
  }
  auto changes = history_from_json(*history);
  if (!changes) return std::unexpected(changes.error());
  job->history = std::move(*changes);
  return job;
}

}  // namespace railweave::api
