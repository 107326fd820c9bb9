#include "services/control/decide/adoption.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "scheduler/placement/check/placement_check.h"
#include "scheduler/placement/score/summary.h"
#include "services/control/decide/refusal.h"
#include "services/control/decide/tenant_limit.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/state/drain.h"
#include "services/control/views/closed_gpus.h"

namespace railweave::control {
namespace {

using fabric::GpuId;

std::string holder_of(const ClusterState& state, GpuId gpu) {
  std::string holder = "another job";
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (!job->holds_gpus()) return true;
    const auto held = job->placement.held_gpus();
    if (std::ranges::find(held, gpu) == held.end()) return true;
    holder = to_string(job->id);
    return false;
  });
  return holder;
}

std::expected<std::vector<GpuId>, Rejection> gpus_of(const ClusterState& state, const AdoptedPlace& place) {
  const auto& topology = state.topology();
  std::vector<GpuId> gpus;
  std::set<GpuId> seen;
  for (const auto& run : place.runs) {
    const auto host = topology.find_host(run.node);
    if (!host) {
      return refuse(ErrorKind::impossible, "adopt.unknownGpu", "there is no node '" + run.node + "'",
                    "GET /v1/nodes lists them");
    }
    const auto of_host = topology.gpus(host);
    std::vector<std::uint32_t> all;
    if (!run.gpus) {
      for (std::uint32_t i = 0; i < of_host.size(); ++i) all.push_back(i);
    }
    for (const std::uint32_t local : run.gpus ? *run.gpus : all) {
      if (local >= of_host.size()) {
        return refuse(ErrorKind::impossible, "adopt.unknownGpu",
                      fmt::format("node '{}' has no GPU {}: it has {}", run.node, local, of_host.size()));
      }
      const GpuId gpu = of_host[local];
      if (!seen.insert(gpu).second) {
        return refuse(ErrorKind::impossible, "adopt.gpuTwice", gpu_text(topology, gpu) + " is given to two ranks");
      }
      if ((state.allocations[host.index()].used >> local & 1U) != 0) {
        return refuse(ErrorKind::conflict, "adopt.gpuHeld",
                      gpu_text(topology, gpu) + " is held by " + holder_of(state, gpu),
                      "end or cancel that job first, if it does not run any more");
      }
      gpus.push_back(gpu);
    }
  }
  return gpus;
}

void add_drains(const ClusterState& state, const std::vector<GpuId>& gpus, std::vector<Message>& findings) {
  for (const auto& node : node_names(state.topology(), gpus)) {
    if (state.drains->contains({DrainKind::node, node}))
      findings.push_back({"", {"node ", NodePart{node}, " is drained"}});
  }
  for (const auto gpu : gpus) {
    const std::string name = gpu_text(state.topology(), gpu);
    if (state.drains->contains({DrainKind::gpu, name})) findings.emplace_back("GPU " + name + " is drained");
  }
}

std::vector<Message> findings_of(const DecisionInput& in, const Job& job) {
  const ClusterState& state = in.state;
  const auto& gpus = job.placement.gpu_of_rank;
  std::vector<Message> findings;
  add_drains(state, gpus, findings);
  const auto closed = closed_gpus(state, job.spec.tenant, in.now_us, expected_end_us(state, job.spec, in.now_us));
  const bool is_closed =
      std::ranges::any_of(gpus, [&](GpuId gpu) { return std::ranges::binary_search(closed.gpus, gpu); });
  if (is_closed) {
    std::vector<MessagePart> windows;
    for (const auto& name : closed.windows) windows.emplace_back(ReservationPart{name});
    append_list(findings.emplace_back("it has GPUs that are set aside meanwhile: "), std::move(windows));
  }
  for (const auto& violation : scheduler::check_placement({.topology = state.topology(),
                                                           .locality = state.placement_fabric->locality(),
                                                           .spec = job.spec,
                                                           .gpu_of_rank = gpus})) {
    findings.emplace_back(violation.text);
  }
  if (const auto cut = cut_off(state, job.spec, job.placement, in.placers.reach(state))) {
    findings.push_back(cut->error.whole());
  }
  const auto& tenant = state.tenants->find(job.spec.tenant)->second;
  if (const auto over = over_gpu_limit(state, tenant, gpus.size())) findings.push_back(over->whole());
  if (const auto never = never_in_quota(state, tenant, gpus.size())) findings.push_back(never->whole());
  return findings;
}

}  // namespace

DecisionResult adopt_job(const DecisionInput& in, const AdoptedPlace& place, std::shared_ptr<Job> job) {
  const ClusterState& state = in.state;
  auto gpus = gpus_of(state, place);
  if (!gpus) return std::unexpected(std::move(gpus.error()));
  const std::uint64_t ranks = scheduler::rank_count(job->spec.parallelism);
  if (gpus->size() != ranks) {
    return refuse(ErrorKind::impossible, "adopt.wrongCount",
                  fmt::format("the job has {} ranks, and {} GPUs are given for them", ranks, gpus->size()));
  }
  if (!job->spec.cpu_roles.empty()) {
    return std::unexpected(
        Rejection{error_of(ErrorKind::invalid, "jobs.invalid",
                           "a job that runs already has its CPU-only members somewhere: none are placed", "/cpuRoles",
                           "leave them out"),
                  nullptr});
  }
  job->state = JobState::placed;
  job->placement.gpu_of_rank = std::move(*gpus);
  job->placement.block_gpus = job->spec.parallelism.tensor;
  scheduler::summarize(state.placement_fabric->as_cabled(), job->spec.parallelism, job->placement);
  auto& placer = in.placers.at(state);
  job->placement.predicted = placer.predict(job->spec, job->placement.gpu_of_rank);
  job->nodes = node_names(state.topology(), job->placement.gpu_of_rank);
  Adoption adoption{findings_of(in, *job)};
  auto guarantee = admit(state, job->spec, job->placement, in.placers.guarantees());
  if (guarantee) {
    job->guarantee = std::move(*guarantee);
  } else {
    adoption.findings.push_back("it has no guarantee: " + guarantee.error().error.whole());
  }
  if (adoption.findings.size() > Adoption::kMaxFindings) adoption.findings.resize(Adoption::kMaxFindings);
  Message reason("job.adopted", {"adopted where it runs"});
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 0; i < std::min(kNamed, adoption.findings.size()); ++i) reason += "; " + adoption.findings[i];
  if (adoption.findings.size() > kNamed) {
    reason += fmt::format("; {} more", adoption.findings.size() - kNamed);
  }
  job->adopted = std::move(adoption);
  const JobId id = job->id;
  return Decision{{JobPlaced{std::move(job), std::move(reason)}}, id, false};
}

}  // namespace railweave::control
