#include "services/railweave/lab/flows/adversary.h"

#include <algorithm>
#include <random>
#include <set>

namespace railweave::cli {

namespace {

using Matching = std::vector<std::uint32_t>;  // by port of the job: the port it sends to

// Fisher and Yates, with remainders: the results of distributions differ between libraries.
void shuffle(Matching& matching, std::mt19937_64& random) {
  for (std::size_t i = 0; i + 1 < matching.size(); ++i) {
    std::swap(matching[i], matching[i + random() % (matching.size() - i)]);
  }
}

class Search {
 public:
  Search(const std::vector<FlowJob>& jobs, const fabric::FabricView& view, const FlowSolver& solver)
      : jobs_(jobs), solver_(solver), capacity_(solver.capacity_mbps()), topology_(view.topology()) {
    for (const FlowJob& job : jobs) {
      class_of_job_.push_back(job.qos_class);
      Matching matching(job.ports.size());
      for (std::uint32_t i = 0; i < matching.size(); ++i) matching[i] = i;
      matchings_.push_back(std::move(matching));
    }
  }

  void shuffle_all(std::mt19937_64& random) {
    for (Matching& matching : matchings_) shuffle(matching, random);
  }
  // Changes the traffic a little; undo() reverts it.
  bool change(std::mt19937_64& random) {
    std::vector<std::uint32_t> able;
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      if (matchings_[j].size() > 1) able.push_back(j);
    }
    if (able.empty()) return false;
    changed_ = able[random() % able.size()];
    before_ = matchings_[changed_];
    Matching& matching = matchings_[changed_];
    if (random() % 4 == 0) {
      shuffle(matching, random);
    } else {
      for (std::size_t i = 0; i < 1 + matching.size() / 8; ++i) {
        std::swap(matching[random() % matching.size()], matching[random() % matching.size()]);
      }
    }
    return true;
  }
  void undo() { matchings_[changed_] = before_; }

  [[nodiscard]] FlowSet flows() const {
    FlowSet flows;
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      const FlowJob& job = jobs_[j];
      for (std::size_t i = 0; i < job.ports.size(); ++i) {
        const fabric::PortId from = job.ports[i], to = job.ports[matchings_[j][i]];
        if (from == to) continue;
        const double cable = capacity_[fabric::directed_link(topology_, from)];
        const double offered = job.most_mbps > 0 ? std::min(static_cast<double>(job.most_mbps), cable) : cable;
        flows.add({from, to}, j, offered,
                  job.admitted ? std::min(offered, static_cast<double>(job.guaranteed_mbps)) : 0);
      }
    }
    return flows;
  }

  // The victim's smallest share, and the fullest of its links.
  std::pair<double, double> judge(const FlowSet& flows, const SolvedFlows& solved, std::uint32_t victim) const {
    double share = 1, fullest = 0;
    const std::size_t classes = solver_.classes(), own = class_of_job_[victim];
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (flows.job[f] != victim || solved.paths.path(f).empty()) continue;
      const double due = flows.entitled_mbps[f] > 0 ? flows.entitled_mbps[f] : flows.offered_mbps[f];
      if (due > 0) share = std::min(share, solved.rates.flows.rate[f] / due);
      for (const fabric::DirectedLink link : solved.paths.path(f)) {
        const double limit = capacity_[link] * solver_.share(own);
        if (limit > 0) fullest = std::max(fullest, solved.rates.class_load[link * classes + own] / limit);
      }
    }
    return {share, fullest};
  }

  [[nodiscard]] SolvedFlows solve(const FlowSet& flows) const { return solver_.solve(flows, class_of_job_); }

 private:
  const std::vector<FlowJob>& jobs_;
  const FlowSolver& solver_;
  const std::vector<double>& capacity_;
  const fabric::Topology& topology_;
  std::vector<std::uint8_t> class_of_job_;
  std::vector<Matching> matchings_;
  Matching before_;
  std::uint32_t changed_ = 0;
};

}  // namespace

void add_flooding_ports(std::vector<FlowJob>& jobs, const fabric::Topology& topology,
                        const fabric::QosClasses& classes) {
  std::set<fabric::PortId> taken;
  for (const FlowJob& job : jobs) taken.insert(job.ports.begin(), job.ports.end());
  FlowJob flood{.name = "unassigned ports", .outcome = "given", .qos_class = last_class(classes)};
  for (const fabric::PortId port : topology.hca_ports()) {
    if (topology.peer(port) && !taken.contains(port)) flood.ports.push_back(port);
  }
  if (flood.ports.size() > 1) jobs.push_back(std::move(flood));
}

WorstTraffic search_worst(const std::vector<FlowJob>& jobs, const fabric::FabricView& view, const FlowSolver& solver,
                          const Adversary& adversary) {
  WorstTraffic worst{.victim = static_cast<std::uint32_t>(jobs.size())};
  std::vector<std::uint32_t> victims;
  for (const bool admitted : {true, false}) {
    for (std::uint32_t j = 0; j < jobs.size() && (admitted || victims.empty()); ++j) {
      if (jobs[j].ports.size() > 1 && jobs[j].admitted == admitted) victims.push_back(j);
    }
    if (!victims.empty()) break;
  }
  if (victims.empty()) return worst;
  std::mt19937_64 random(adversary.seed);
  const std::uint64_t each = std::max<std::uint64_t>(1, adversary.rounds / victims.size());
  for (const std::uint32_t victim : victims) {
    Search search(jobs, view, solver);
    search.shuffle_all(random);
    std::pair<double, double> best{2, 0};
    for (std::uint64_t round = 0; round < each; ++round) {
      if (round > 0 && !search.change(random)) break;
      FlowSet flows = search.flows();
      SolvedFlows solved = search.solve(flows);
      ++worst.matrices;
      const auto [share, fullest] = search.judge(flows, solved, victim);
      if (share > best.first || (share == best.first && fullest < best.second)) {
        search.undo();
        continue;
      }
      best = {share, fullest};
      const bool worse = worst.victim == jobs.size() || share < worst.victim_share ||
                         (share == worst.victim_share && fullest > worst.fullest);
      if (!worse) continue;
      worst.victim = victim;
      worst.victim_share = share;
      worst.fullest = fullest;
      worst.flows = std::move(flows);
      worst.solved = std::move(solved);
    }
  }
  return worst;
}

}  // namespace railweave::cli
