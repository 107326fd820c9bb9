#include "services/control/guarantees/bandwidth_counterfactuals.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/rate_text.h"

namespace railweave::control {
namespace {

using scheduler::Contract;
using scheduler::Counterfactual;
using scheduler::JobSpec;
using scheduler::Outcome;

// The largest rate at which the links that refused the job would have room for it; loads grow with the rate.
std::int64_t rate_that_fits(const Contract& terms, const std::vector<BlockedLink>& links) {
  double share = 1;
  for (const BlockedLink& link : links) {
    const auto room = static_cast<double>(std::max<std::int64_t>(0, link.limit_mbps - link.reserved_mbps));
    share = std::min(share, room / static_cast<double>(std::max<std::int64_t>(1, link.wanted_mbps)));
  }
  return static_cast<std::int64_t>(share * static_cast<double>(terms.guaranteed.value()));
}

}  // namespace

bool fits_on_no_cable(const ClusterState& state, const JobSpec& spec, const Contract& terms) {
  // A pattern may need nothing on the network, and with a rate for each job the rate of a port follows from its GPUs.
  if (terms.promise != fabric::TrafficPromise::hose || terms.basis != scheduler::RateBasis::per_port) return false;
  const auto& classes = *state.qos_classes;
  const auto at = std::ranges::find(classes, terms.classes.front(), &fabric::QosClass::name);
  if (at == classes.end()) return false;
  const auto& t = state.topology();
  const auto rules = fabric::capacity_rules(classes);
  const auto own_class = static_cast<std::size_t>(at - classes.begin());
  std::int64_t most = 0;
  std::uint64_t largest_host = 0;
  const fabric::FabricView whole(state.accepted.topology);
  const auto capacity = fabric::whole_capacities_mbps(whole);
  for (const auto host : t.hosts()) {
    largest_host = std::max<std::uint64_t>(largest_host, t.gpus(host).size());
    for (const auto gpu : t.gpus(host)) {
      for (const auto& nic : state.placement_fabric->gpu_nics().nics(gpu)) {
        const std::int64_t cable = capacity[fabric::directed_link(t, nic.port)];
        most = std::max(most, cable * rules.usable_permille / 1000 * rules.class_permille[own_class] / 1000);
      }
    }
  }
  const std::int64_t needed = (terms.guaranteed.value() * terms.reserved_permille + 999) / 1000;
  return scheduler::rank_count(spec.parallelism) > largest_host && needed > most;
}

std::vector<Counterfactual> bandwidth_counterfactuals(const JobSpec& spec, const Contract& terms,
                                                      const std::vector<BlockedLink>& links) {
  std::vector<Counterfactual> changes;
  const auto add = [&](std::string change, auto set) {
    auto changed = std::make_shared<JobSpec>(spec);
    if (!changed->bandwidth) changed->bandwidth.emplace();
    set(*changed->bandwidth);
    changes.push_back({std::move(change), Outcome::placed, std::move(changed)});
  };
  if (const std::int64_t rate = rate_that_fits(terms, links); rate > 0 && rate < terms.guaranteed.value()) {
    add("guaranteed " + rate_text(terms.guaranteed) + " -> " + rate_text(RateMbps(rate)),
        [&](scheduler::BandwidthTerms& own) { own.guaranteed = RateMbps(rate); });
  }
  if (terms.promise == fabric::TrafficPromise::hose) {
    add("model hose -> pattern",
        [](scheduler::BandwidthTerms& own) { own.model = scheduler::BandwidthModel::pattern; });
  }
  if (terms.survives_link_failure) {
    add("survive a link failure -> not", [](scheduler::BandwidthTerms& own) { own.survive_link_failure = false; });
  }
  if (!spec.job.required || links.empty()) return changes;
  auto anywhere = std::make_shared<JobSpec>(spec);
  anywhere->job.required.reset();
  changes.push_back({fmt::format("job within one {} -> anywhere", fabric::to_string(*spec.job.required)),
                     Outcome::placed, std::move(anywhere)});
  return changes;
}

}  // namespace railweave::control
