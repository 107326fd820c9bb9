#include "services/control/codec/job_json.h"

#include <utility>

#include "services/control/codec/guarantee_json.h"
#include "services/control/codec/job_number.h"
#include "services/control/codec/job_spec_json.h"
#include "services/control/codec/launch_json.h"
#include "services/control/codec/message_json.h"
#include "services/control/codec/move_json.h"
#include "services/control/codec/prediction_json.h"

namespace railweave::api {
namespace {

using control::Job;
using control::JobChange;
using control::JobState;

constexpr ByText kJobState{[](JobState state) { return control::to_string(state); },
                           [](std::string_view text) { return parse_enum<control::JobState>(text); }, "job state"};
constexpr ByText kLevel{[](fabric::LevelKind level) { return fabric::to_string(level); },
                        [](std::string_view text) { return level_named(text); }, "level"};
constexpr std::tuple kHistoryFields{field("timeUs", &JobChange::time_us), field("seq", &JobChange::seq),
                                    required_field("state", &JobChange::state, kJobState),
                                    field("reason", &JobChange::reason, Said{}), field("actor", &JobChange::actor)};

using control::JobHold;
using control::QueuePlace;
constexpr std::tuple kHoldFields{field("by", &JobHold::by), field("byOperator", &JobHold::by_operator),
                                 field("reason", &JobHold::reason), field("sinceUs", &JobHold::since_us)};
constexpr std::tuple kPlaceFields{field("sinceUs", &QueuePlace::since_us), field("number", &QueuePlace::number)};
constexpr std::tuple kAdoptionFields{field("findings", &control::Adoption::findings, SaidList{})};

// An object with these fields; none of an optional member is null. A form of record.h.
template <class Record, class Fields>
auto object_of(const Fields& fields) {
  return Embedded{[&fields](const Record& record) { return fields_json(record, fields); },
                  [&fields](const Json& value, const std::string& pointer) {
                    return record_from_json<Record>(value, pointer, fields);
                  }};
}

// A job's GPUs are kept by node, so its list of fields needs the topology. Records of older versions lack some of them:
// only the required ones were always there.
auto job_fields(const fabric::Topology& topology) {
  const auto in_placement = [](auto member) { return [member](auto& job) -> auto& { return job.placement.*member; }; };
  using scheduler::Placement;
  return std::tuple{
      required_field("number", &Job::id, JobNumber{}),
      required_field(
          "spec", &Job::spec,
          Embedded{[](const scheduler::JobSpec& spec) { return to_json(spec); },
                   [](const Json& value, const std::string& pointer) { return job_spec_from_json(value, pointer); }}),
      required_field("state", &Job::state, kJobState),
      field("submittedUs", &Job::submitted_us),
      field("notBeforeUs", &Job::not_before_us),
      field("startedUs", &Job::started_us),
      field("savedUs", &Job::saved_us),
      field("waits", &Job::waits),
      field("damage", &Job::damage, Said{}),
      field("endedUs", &Job::ended_us),
      field("idempotencyKey", &Job::idempotency_key),
      optional_field("keyOwner", &Job::key_owner),
      field("requestDigest", &Job::request_digest),
      required_field("level", in_placement(&Placement::level), kLevel),
      field("blockGpus", in_placement(&Placement::block_gpus)),
      field("nodesUsed", in_placement(&Placement::nodes_used)),
      field("domainsUsed", in_placement(&Placement::domains_used)),
      field("groupsAtLevel", in_placement(&Placement::groups_at_level)),
      field("dataRingsOnRails", in_placement(&Placement::data_rings_on_rails)),
      required_field("ranks", in_placement(&Placement::gpu_of_rank), GpusByNode{topology}),
      field("nodes", &Job::nodes, Strings{}),
      required_field("history", &Job::history, list_of<JobChange>(kHistoryFields)),
      field("version", &Job::version),
      optional_field("damagedUs", &Job::damaged_us),
      optional_field("lost", &Job::lost, Strings{scheduler::JobSpec::kMaxRanks}),
      optional_field("earlierLevels", &Job::earlier_levels, UpTo{0xffff}),
      optional_field("idle", in_placement(&Placement::idle_gpus), GpusByNode{topology}),
      optional_field("cpuRoles", in_placement(&Placement::cpu_seats), kCpuSeats),
      optional_field(
          "hold", [](auto& job) -> auto& { return job.queue.hold; }, object_of<JobHold>(kHoldFields)),
      optional_field(
          "place", [](auto& job) -> auto& { return job.queue.exchanged; }, object_of<QueuePlace>(kPlaceFields)),
      optional_field("placeUntilUs", [](auto& job) -> auto& { return job.queue.place_until_us; }),
      optional_field("adopted", &Job::adopted, object_of<control::Adoption>(kAdoptionFields)),
      optional_field("predicted", in_placement(&Placement::predicted), kPrediction),
      optional_field(
          "guarantee", &Job::guarantee,
          Embedded{[](const control::JobGuarantee& guarantee) { return to_json(guarantee); },
                   [](const Json& value, const std::string& pointer) { return guarantee_from_json(value, pointer); }}),
      optional_field(
          "launch", &Job::launch,
          Embedded{[](const control::Launch& launch) { return to_json(launch); },
                   [](const Json& value, const std::string& pointer) { return launch_from_json(value, pointer); }}),
      optional_field("move", &Job::move,
                     Embedded{[&topology](const control::Move& move) { return to_json(move, topology); },
                              [&topology](const Json& value, const std::string& pointer) {
                                return move_from_json(value, pointer, topology);
                              }})};
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

Out job_to_json(const Job& job, const fabric::Topology& topology) { return fields_json(job, job_fields(topology)); }

Result<std::shared_ptr<Job>> job_from_json(const Json& value, const fabric::Topology& topology) {
  auto job = std::make_shared<Job>();
  job->placement.block_gpus = 0;  // records of the first versions do not say
  ObjectReader reader(value, "");
  read_fields(reader, *job, job_fields(topology));
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (job->id == control::JobId(0)) return fail(ErrorKind::internal, "journal.unreadable", "a job has no number");
  if (job->started_us == 0 && job->state == JobState::placed) job->started_us = job->submitted_us;
  if (job->placement.block_gpus == 0) job->placement.block_gpus = job->spec.parallelism.tensor;
  return job;
}

}  // namespace railweave::api
