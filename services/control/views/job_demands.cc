#include "services/control/views/job_demands.h"

#include <cmath>
#include <memory>

#include "fabric/flow/flow_paths.h"
#include "scheduler/collective/routed_traffic.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "services/control/views/peer_places.h"

namespace railweave::control {

JobDemands job_demands(const ClusterState& state, const fabric::ForwardingTables& tables, fabric::SubnetId subnet) {
  JobDemands result;
  const auto& t = state.topology();
  const auto& fabric = state.placement_fabric;
  const auto peers = peer_places(std::make_shared<const JobTable>(state.jobs));
  scheduler::BundleTraffic bundles(fabric);
  bundles.set_peers(peers);
  const fabric::PathWalker walker(state.view, tables);
  const scheduler::RoutedTrafficInput in{.topology = t,
                                         .walker = walker,
                                         .ports = fabric->gpu_ports(),
                                         .bundles = fabric->bundles(),
                                         .bundle_mbps = fabric->nominal_mbps()};
  double flows = 0;
  state.jobs.visit_after(JobId(), [&](const JobPtr& job) {
    if (!job->holds_gpus()) return true;
    const auto& gpus = job->placement.gpu_of_rank;
    const auto traffic = scheduler::traffic_of_job(job->spec, peers).traffic;
    flows += scheduler::flow_count(job->spec.parallelism, traffic);
    if (flows > JobDemands::kMaxFlows) {
      result.is_incomplete = true;
      return false;
    }
    const auto load = bundles.load_of(job->spec, gpus);
    if (!std::isfinite(load.period_us) || load.period_us <= 0) return true;
    bool sends = false;
    for (const auto& flow : scheduler::port_flows(in, gpus, job->spec.parallelism, traffic,
                                                  scheduler::generation_of(*fabric, gpus), load.traffic)) {
      if (t.subnet(flow.ports.from) != subnet) continue;
      result.demands.push_back({flow.ports.from, flow.ports.to, scheduler::mean_kbps(flow, load.period_us)});
      sends = true;
    }
    result.jobs += sends ? 1 : 0;
    return true;
  });
  return result;
}

}  // namespace railweave::control
