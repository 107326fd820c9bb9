#include "services/control/views/site_link_jobs.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "fabric/topology/site_link_name.h"
#include "scheduler/collective/site_routes.h"

namespace railweave::control {
namespace {

using scheduler::SiteRoutes;

constexpr std::size_t kMaxNamed = 5;

}  // namespace

std::vector<JobOverSiteLink> jobs_over(const ClusterState& state, fabric::SiteLinkId link) {
  const auto& topology = state.topology();
  std::vector<std::uint32_t> in_use = state.view.site_links_in_use();
  if (in_use.empty()) {
    for (const auto& one : topology.site_links()) in_use.push_back(one.links);
  }
  const auto& own = topology.site_links()[link.index()];
  in_use[link.index()] = own.links;
  const SiteRoutes with(topology, in_use, 0);
  in_use[link.index()] = 0;
  const SiteRoutes without(topology, in_use, 0);
  const auto pair = with.pair_between(own.a.value(), own.b.value());
  const auto leads_over = [&](std::uint32_t from, std::uint32_t to) {
    return pair && std::ranges::any_of(with.of(from, to).bundles, [&](auto bundle) { return bundle / 2 == *pair; });
  };
  std::vector<JobOverSiteLink> jobs;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (!job->holds_gpus()) return true;
    std::set<std::uint32_t> sites;
    for (const auto gpu : job->placement.gpu_of_rank) {
      if (const auto site = topology.site(topology.host(gpu))) sites.insert(site.value());
    }
    JobOverSiteLink found{job, false};
    bool over = false;
    for (const auto from : sites) {
      for (const auto to : sites) {
        if (from >= to || !leads_over(from, to)) continue;
        over = true;
        found.needs_it = found.needs_it || !without.joined(from, to);
      }
    }
    if (over) jobs.push_back(std::move(found));
    return true;
  });
  return jobs;
}

Message needing(const std::vector<JobOverSiteLink>& jobs) {
  std::vector<MessagePart> named;
  std::size_t count = 0;
  for (const auto& one : jobs) {
    if (!one.needs_it || ++count > kMaxNamed) continue;
    named.emplace_back(JobPart{one.job->id.number()});
  }
  Message message;
  append_list(message, std::move(named));
  if (count > kMaxNamed) message += fmt::format(" and {} more", count - kMaxNamed);
  return message;
}

std::string site_links_out_text(const ClusterState& state) {
  std::string text;
  std::size_t count = 0;
  for (const auto link : fabric::site_link_ids(state.topology())) {
    if (state.view.links_in_use(link) != 0 || ++count > kMaxNamed) continue;
    text += (text.empty() ? "link " : ", link ") + fabric::site_link_text(state.topology(), link) + " is " +
            (state.view.state(link) != fabric::LinkState::down ? "drained" : "down");
  }
  return count > kMaxNamed ? fmt::format("{} and {} more", text, count - kMaxNamed) : text;
}

}  // namespace railweave::control
