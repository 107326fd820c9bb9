#include "services/railweave/lab/flows/flow_job.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "scheduler/collective/job_flows.h"
#include "scheduler/placement/placer.h"
#include "scheduler/placement/score/job_traffic.h"
#include "services/rest/json/jobs/placement_value.h"

namespace railweave::cli {
namespace {

using fabric::PortId;
using scheduler::CommGroup;

// The flows of all kinds of groups, weighted by their bytes per step and merged by pair of ports.
void add_traffic(const scheduler::PlacementFabric& fabric, const scheduler::RoutedPaths& paths,
                 const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank, FlowJob& job) {
  const auto traffic = scheduler::traffic_of_job(spec);
  job.assumed_traffic = traffic.assumed;
  const bool nvls = scheduler::generation_of(fabric).nvls;
  const fabric::Topology& t = fabric.topology();
  std::map<std::pair<PortId, PortId>, double> pairs;
  std::vector<std::uint32_t> links;
  for (std::size_t group = 0; group < scheduler::kCommGroups; ++group) {
    for (const auto& flow : scheduler::job_flows(fabric.bundles(), gpu_of_rank, spec.parallelism, traffic.traffic,
                                                 static_cast<CommGroup>(group), nvls)) {
      scheduler::PathShape shape;
      links.clear();
      if (!paths.append(gpu_of_rank[flow.from], gpu_of_rank[flow.to], links, shape)) {
        ++job.unreachable;
      } else if (!shape.network) {
        ++job.inside;
      } else {
        pairs[{fabric::out_port_of(t, links.front()), t.peer(fabric::out_port_of(t, links.back()))}] += flow.bytes;
      }
    }
  }
  for (const auto& [ports, bytes] : pairs) job.traffic.push_back({{ports.first, ports.second}, bytes});
}

}  // namespace

std::vector<FlowJob> place_jobs(const std::vector<JobRequestEntry>& requests, const fabric::FabricView& view,
                                const fabric::PathWalker& walker) {
  const auto fabric = std::make_shared<const scheduler::PlacementFabric>(view.topology_ptr());
  const fabric::Topology& t = fabric->topology();
  scheduler::Placer placer(fabric);
  placer.set_capacities(fabric->capacities_mbps(view));
  scheduler::Allocations allocations = scheduler::no_allocations(t);
  const scheduler::GpuPorts& ports = fabric->gpu_ports();
  const auto capacity = fabric::link_capacities_mbps(view);
  const scheduler::RoutedPaths paths(t, walker, ports, capacity);
  std::vector<FlowJob> jobs;
  for (const JobRequestEntry& request : requests) {
    FlowJob job = request.job;
    placer.sync(allocations);
    const scheduler::PlacementResult placed = placer.place(request.spec);
    job.outcome = api::to_string(placed.outcome);
    if (placed.outcome != scheduler::Outcome::placed) {
      job.reason = placed.explanation.whole().whole_text();
    } else {
      const auto& gpus = placed.placement.gpu_of_rank;
      (void)scheduler::take(allocations, t, gpus);
      job.gpus = gpus.size();
      job.nodes = placed.placement.nodes_used;
      std::set<PortId> own;
      for (const auto gpu : gpus) {
        for (const PortId port : ports.of(gpu)) own.insert(port);
      }
      job.ports.assign(own.begin(), own.end());
      add_traffic(*fabric, paths, request.spec, gpus, job);
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void admit_jobs(std::vector<FlowJob>& jobs, const fabric::QosClasses& classes, fabric::HoseLoads& loads,
                const fabric::SurvivingLoadOf& surviving) {
  fabric::Ledger ledger(fabric::whole_capacities_mbps(loads.view()), fabric::capacity_rules(classes));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    FlowJob& job = jobs[i];
    if (job.guaranteed_mbps == 0 || job.outcome != "placed") continue;
    scheduler::Contract contract{.tenant = job.tenant, .guaranteed = RateMbps(job.guaranteed_mbps)};
    if (job.most_mbps > 0) contract.most = RateMbps(job.most_mbps);
    contract.promise = job.hose ? fabric::TrafficPromise::hose : fabric::TrafficPromise::pattern;
    contract.survives_link_failure = job.survives_link_failure;
    scheduler::BandwidthRequest request{.job = job.name, .qos_class = classes[job.qos_class].name, .ports = job.ports};
    request.order = i;
    if (!job.hose) {
      std::map<PortId, double> sent, received;
      for (const PortTraffic& flow : job.traffic) {
        sent[flow.ports.from] += flow.weight;
        received[flow.ports.to] += flow.weight;
      }
      for (const PortTraffic& flow : job.traffic) {
        const double part = flow.weight / std::max(sent[flow.ports.from], received[flow.ports.to]);
        request.flows.push_back(
            {flow.ports, static_cast<std::int64_t>(std::ceil(part * static_cast<double>(job.guaranteed_mbps)))});
      }
    }
    scheduler::BandwidthAdmission admission(classes, ledger, loads, surviving);
    const auto result = admission.admit(contract, request);
    if (const auto* admitted = std::get_if<scheduler::Admitted>(&result)) {
      ledger.reserve(admitted->reservation);
      job.admitted = true;
      if (job.most_mbps == 0) job.most_mbps = job.guaranteed_mbps;
    } else {
      const Error& reason = std::get<scheduler::Rejected>(result).reason;
      job.reason = reason.whole().whole_text();
      job.qos_class = last_class(classes);
      job.most_mbps = 0;
    }
  }
}

}  // namespace railweave::cli
