#include "services/rest/json/queue/queue.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "services/control/codec/job_json.h"
#include "services/control/codec/job_spec_json.h"
#include "services/json/contract_object.h"
#include "services/json/strict_json.h"
#include "services/rest/json/jobs/job_value.h"
#include "services/rest/json/jobs/placement_value.h"
#include "services/rest/json/time_value.h"

namespace railweave::api {
namespace {

using fabric::GpuId;
using fabric::Topology;
using scheduler::QueueWindow;

constexpr std::size_t kMaxNodes = 100'000;
constexpr std::size_t kMaxReason = control::GpuReservation::kMaxReason;

Out gpu_json(const Topology& topology, GpuId gpu) {
  return object<"NodeGpu">(with<"node">(topology.name(topology.host(gpu))), with<"gpu">(topology.local_index(gpu)));
}

Out moves_json(const Topology& topology, const std::vector<scheduler::RankMove>& moves) {
  Out list = Out::array();
  for (const auto& move : moves) {
    list.push_back(object<"RankMoves">(with<"rank">(move.rank), with<"from">(gpu_json(topology, move.from)),
                                       with<"to">(gpu_json(topology, move.to))));
  }
  return list;
}

std::int64_t read_time(ObjectReader& reader, const char* field) {
  std::string text;
  reader.require(field);
  reader.read(field, text);
  const auto time = parse_time_us(text);
  if (!time) reader.set_error(field, shown(text) + " is no time", "like 2026-11-21T09:00:00Z (RFC 3339)");
  return time.value_or(0);
}

void read_reason(ObjectReader& reader, std::string& reason) {
  reader.read("reason", reason);
  if (reason.size() > kMaxReason) reader.set_error("reason", fmt::format("is longer than {} bytes", kMaxReason));
}

}  // namespace

std::string write_queue(const control::ClusterState& state, const control::QueueView& view) {
  std::uint64_t gpus = 0;
  std::uint64_t running = 0;
  std::int64_t oldest = 0;
  state.jobs.visit_after(control::JobId(0), [&](const control::JobPtr& job) {
    running += job->holds_gpus() ? 1 : 0;
    if (job->state != control::JobState::queued) return true;
    gpus += scheduler::rank_count(job->spec.parallelism);
    if (oldest == 0 || job->submitted_us < oldest) oldest = job->submitted_us;
    return true;
  });
  Out last = nullptr;
  if (view.cycles != 0) {
    last = object<"Queue.lastCycle">(with<"seq">(view.seq), with<"time">(time_text(view.time_us)),
                                     with<"tookUs">(view.took_us), with<"cycles">(view.cycles),
                                     with<"nextLookAt">(time_or_null(view.wake_us)));
  }
  return dump(object<"Queue">(with<"waiting">(state.jobs.queued()), with<"gpusWaiting">(gpus),
                              with<"oldestSubmittedAt">(time_or_null(oldest)), with<"running">(running),
                              with<"freeGpus">(state.free_gpus), with<"totalGpus">(state.topology().gpus().size()),
                              with<"lastCycle">(std::move(last)), with<"seq">(state.seq)));
}

std::string write_waiting(const control::Job& job, std::uint64_t place, const scheduler::WaitReason* reason,
                          std::int64_t expected_us, const MessageReader& reader) {
  return dump(
      object<"WaitingJob">(with<"place">(place), part<"JobFields">(job_line_json(job)),
                           with<"waits">(reason == nullptr ? Out(nullptr) : to_json(*reason, expected_us, reader))));
}

std::string write_share(const TenantShare& share, std::uint64_t total_gpus) {
  const auto& tenant = *share.tenant;
  const auto optional = [](const std::optional<std::uint64_t>& gpus) { return gpus ? Out(*gpus) : Out(nullptr); };
  const std::uint64_t quota = tenant.quota_gpus.value_or(UINT64_MAX);
  const double total = std::max(1.0, static_cast<double>(total_gpus));
  return dump(object<"Share">(with<"tenant">(tenant.name), with<"gpusHeld">(share.running_gpus),
                              with<"gpusWaiting">(share.waiting_gpus), with<"quotaGpus">(optional(tenant.quota_gpus)),
                              with<"maxGpus">(optional(tenant.max_gpus)), with<"cohort">(tenant.cohort),
                              with<"borrowedGpus">(share.running_gpus > quota ? share.running_gpus - quota : 0),
                              with<"weight">(tenant.weight),
                              with<"share">(static_cast<double>(share.running_gpus) /
                                            (total * std::max(tenant.weight, control::Tenant::kLeastWeight))),
                              with<"averageGpus">(share.average_gpus)));
}

std::string write_stranded(const scheduler::StrandedGpus& stranded, std::size_t shapes, std::uint64_t seq) {
  Out beside = Out::array();
  for (const auto& job : stranded.beside) {
    if (beside.size() == 100) break;
    beside.push_back(object<"Stranded.beside">(with<"job">(job_name(job.job)), with<"gpus">(job.gpus)));
  }
  return dump(object<"Stranded">(with<"freeGpus">(stranded.free), with<"strandedGpus">(stranded.stranded),
                                 with<"jobsAskedAbout">(shapes), with<"beside">(std::move(beside)), with<"seq">(seq)));
}

std::string write_defragmentation(const Topology& topology, const std::vector<scheduler::DefragmentStep>& steps,
                                  std::uint64_t seq) {
  Out list = Out::array();
  for (const auto& step : steps) {
    Out moves = Out::array();
    for (const auto& move : step.moves) {
      moves.push_back(object<"Defragmentation.steps.moves">(with<"job">(job_name(move.job)),
                                                            with<"costGpuSeconds">(move.cost_gpu_s),
                                                            with<"ranks">(moves_json(topology, move.ranks))));
    }
    Out frees = Out::array();
    for (const auto domain : step.frees) frees.push_back(topology.name(domain));
    list.push_back(object<"Defragmentation.steps">(with<"frees">(std::move(frees)), with<"freedGpus">(step.freed_gpus),
                                                   with<"costGpuSeconds">(step.cost_gpu_s),
                                                   with<"moves">(std::move(moves))));
  }
  return dump(object<"Defragmentation">(with<"inFavourOf">(nullptr), with<"steps">(std::move(list)), with<"seq">(seq)));
}

Result<control::PutReservation> read_reservation(const std::string& name, std::string_view body) {
  const bool plain =
      !name.empty() && name.size() <= 63 &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == std::string::npos;
  if (!plain) {
    return fail(ErrorKind::invalid, "reservations.badName", "a reservation cannot be called that", {},
                "1 to 63 letters, digits, '-', '_' or '.'");
  }
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  control::PutReservation put;
  put.name = name;
  ObjectReader reader(*value, "");
  std::string kind(control::to_string(put.kind));
  reader.read("kind", kind);
  put.kind = kind == control::to_string(QueueWindow::Kind::maintenance) ? QueueWindow::Kind::maintenance
                                                                        : QueueWindow::Kind::reservation;
  if (kind != control::to_string(put.kind)) {
    reader.set_error("kind", "there is no kind " + shown(kind), "reservation or maintenance");
  }
  put.from_us = read_time(reader, "from");
  put.to_us = read_time(reader, "to");
  read_reason(reader, put.reason);
  if (put.kind == QueueWindow::Kind::maintenance) {
    reader.require("nodes");
    reader.read("nodes", put.nodes, kMaxNodes);
    if (auto done = reader.finish(); !done) return std::unexpected(done.error());
    return put;
  }
  const Json* job = reader.take("job");
  if (job == nullptr) {
    reader.set_error("job", "is missing", "the job to reserve for, as in POST /v1/jobs: {\"tenant\", \"gpus\", ...}");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  auto spec = job_spec_from_json(*job, "/job");
  if (!spec) return std::unexpected(spec.error());
  if (!spec->peers.empty()) {
    return fail(ErrorKind::invalid, "body.unknownField", "'peers' is not a field of a request", "/job/peers");
  }
  put.shape = std::move(*spec);
  if (put.shape.name.empty()) put.shape.name = name;
  if (auto checked = scheduler::check_job_spec(put.shape); !checked) {
    checked.error().location = "/job" + checked.error().location;
    return std::unexpected(checked.error());
  }
  return put;
}

std::string write_reservation(const Topology& topology, const control::GpuReservation& reservation) {
  const auto& window = reservation.window;
  return dump(object<"Reservation">(
      with<"id">(window.name), with<"kind">(control::to_string(window.kind)), with<"from">(time_text(window.from_us)),
      with<"to">(time_text(window.to_us)), with<"tenant">(window.tenant.empty() ? Out(nullptr) : Out(window.tenant)),
      with<"reason">(reservation.reason), with<"gpus">(window.gpus.size()),
      with<"nodes">(ranks_to_json(topology, window.gpus)), with<"version">(reservation.version)));
}

Result<control::RepairJob> read_repair(control::JobId id, std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  control::RepairJob repair;
  repair.id = id;
  ObjectReader reader(*value, "");
  reader.read("nodes", repair.nodes, kMaxNodes);
  reader.read("guarantee", repair.for_guarantee);
  read_reason(reader, repair.reason);
  if (const Json* gpus = reader.take("gpus")) {
    if (!gpus->is_array() || gpus->size() > kMaxNodes) {
      reader.set_error("gpus", fmt::format("is no list of up to {} GPUs", kMaxNodes));
    } else {
      for (std::size_t i = 0; i < gpus->size(); ++i) {
        ObjectReader fields((*gpus)[i], fmt::format("{}/{}", reader.pointer("gpus"), i));
        std::string node;
        std::uint32_t gpu = 0;
        fields.require("node");
        fields.require("gpu");
        fields.read("node", node);
        fields.read("gpu", gpu);
        if (auto done = fields.finish(); !done) {
          reader.set_error(std::move(done.error()));
          break;
        }
        repair.gpus.emplace_back(std::move(node), gpu);
      }
    }
  }
  if (repair.for_guarantee && (!repair.nodes.empty() || !repair.gpus.empty())) {
    reader.set_error("guarantee", "cannot be combined with nodes and gpus, which name what is lost");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return repair;
}

std::string write_repair(const Topology& topology, const control::Job& job, const control::RequestedRepair& repair) {
  Out lost = Out::array();
  for (const auto gpu : repair.lost) lost.push_back(gpu_json(topology, gpu));
  Out drains = Out::array();
  for (const auto& target : repair.to_drain) drains.push_back(target.id);
  const auto predicted = [](const std::optional<scheduler::Prediction>& prediction) {
    scheduler::Placement placement;
    placement.predicted = prediction;
    return predicted_json(placement);
  };
  return dump(object<"RepairPlan">(
      with<"job">(control::to_string(job.id)), with<"lost">(std::move(lost)), with<"drains">(std::move(drains)),
      with<"predictedBefore">(predicted(repair.before)), with<"predictedAfter">(predicted(repair.after)),
      with<"lostGpuSeconds">(repair.lost_gpu_s), with<"placedAnew">(repair.plan.moved_whole),
      with<"within">(repair.plan.moved_whole ? Out(nullptr) : Out(fabric::to_string(repair.plan.nearest))),
      with<"moves">(moves_json(topology, repair.plan.moves))));
}

}  // namespace railweave::api
