#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "services/railweave/assess/charts.h"
#include "services/railweave/assess/job_partitions.h"
#include "services/railweave/assess/job_places.h"
#include "services/railweave/assess/sections.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kPortsShown = 12, kMaxPorts = 1000;

std::string label_of(const PlacedJob& placed) {
  return placed.job.id +
         (placed.job.name.empty() || placed.job.id.ends_with(placed.job.name) ? "" : " " + placed.job.name);
}

// Hosts that a finding of cabling names.
std::set<std::string> faulty_hosts(const SiteView& site) {
  std::set<std::string> names;
  for (const fabric::Finding& finding : site.findings) {
    if (finding.code == "hostShortOfRail" || finding.code == "hostWithoutLinks") {
      names.insert(finding.objects.begin(), finding.objects.end());
    }
  }
  return names;
}

std::string squares(const SiteView& site, const std::vector<PlacedJob>& jobs) {
  const fabric::Level* groups = site.locality.find(fabric::LevelKind::leaf_group);
  if (groups == nullptr) groups = site.locality.find(fabric::LevelKind::cluster);
  if (groups == nullptr) return {};
  std::map<fabric::HostId, std::size_t> job_of_host;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    for (const fabric::HostId host : jobs[j].hosts) job_of_host.emplace(host, j);
  }
  const auto faulty = faulty_hosts(site);
  std::vector<GroupRow> rows(groups->group_count);
  for (std::uint32_t g = 0; g < groups->group_count; ++g) rows[g].name = groups->group_names[g];
  for (const fabric::HostId host : site.topology->hosts()) {
    if (site.topology->kind(host) != fabric::HostKind::compute) continue;
    HostSquare square{.name = std::string(site.topology->name(host)), .job = {}};
    square.faulty = faulty.contains(square.name);
    if (const auto found = job_of_host.find(host); found != job_of_host.end()) {
      square.job = label_of(jobs[found->second]);
      square.colour = found->second;
    }
    rows[groups->group_of_host[host.index()]].hosts.push_back(std::move(square));
  }
  std::erase_if(rows, [](const GroupRow& row) { return row.hosts.empty(); });
  return hosts_chart(rows);
}

Json job_json(const fabric::Topology& topology, const PlacedJob& placed) {
  const LevelUse &groups = placed.leaf_groups, &domains = placed.nvlink_domains;
  Json better = Json::array();
  for (const fabric::HostId host : placed.better_order) better.push_back(topology.name(host));
  return {{"id", placed.job.id},
          {"name", placed.job.name},
          {"user", placed.job.user},
          {"hosts", placed.hosts.size()},
          {"unknownHosts", placed.unknown_hosts.size()},
          {"gpus", placed.job.gpus},
          {"leafGroups", groups.used},
          {"fewestLeafGroups", groups.fewest},
          {"ringCrossings", groups.crossings},
          {"fewestRingCrossings", groups.fewest_crossings},
          {"nvlinkDomains", domains.used},
          {"fewestNvlinkDomains", domains.fewest},
          {"domainCrossings", domains.crossings},
          {"fewestDomainCrossings", domains.fewest_crossings},
          {"betterOrder", std::move(better)},
          {"orderKnown", placed.job.order_known},
          {"sharePartition", share_a_partition(topology, placed.hosts)}};
}

void add_straddling(ReportSection& section, const SiteView& site, const std::vector<PlacedJob>& jobs,
                    LevelUse PlacedJob::* level, const char* code, const char* groups, const char* cost) {
  std::vector<std::string> straddling;
  std::size_t gpus = 0;
  for (const PlacedJob& placed : jobs) {
    if (!(placed.*level).straddles()) continue;
    straddling.push_back(label_of(placed));
    gpus += placed.job.gpus;
  }
  if (straddling.empty()) return;
  section.advice.push_back(
      {code, "warning",
       plural(straddling.size(), "job is", "jobs are") + " spread over more " + groups + " than needed",
       "certain, as far as the list of jobs and the cables are of one time",
       cost + (gpus > 0 ? "; " + plural(gpus, "GPU is", "GPUs are") + " in them" : std::string()),
       "let Railweave choose the places of jobs to come; a running job moves only with a restart",
       site.commands.part(".sections.jobs.jobs"), straddling});
}

// "16 crossings of leaf groups, 4 in the better order"; "" where the order is as good as any.
std::string crossings_text(const LevelUse& use, const char* groups) {
  if (!use.out_of_order()) return {};
  return fmt::format("{} crossings of {}, {} in the better order", use.crossings, groups, use.fewest_crossings);
}

void add_disorder(ReportSection& section, const SiteView& site, const std::vector<PlacedJob>& jobs) {
  std::vector<std::string> disordered;
  std::string most;
  std::size_t saved = 0;
  for (const PlacedJob& placed : jobs) {
    if (placed.better_order.empty() || !placed.job.order_known) continue;
    disordered.push_back(label_of(placed));
    const LevelUse &groups = placed.leaf_groups, &domains = placed.nvlink_domains;
    const std::size_t saves = groups.crossings - groups.fewest_crossings + domains.crossings - domains.fewest_crossings;
    if (saves <= saved) continue;
    saved = saves;
    const std::string of_groups = crossings_text(groups, "leaf groups"),
                      of_domains = crossings_text(domains, "NVLink domains");
    most = label_of(placed) + ": " + of_groups + (of_groups.empty() || of_domains.empty() ? "" : "; ") + of_domains;
  }
  if (disordered.empty()) return;
  section.advice.push_back(
      {"ranksOutOfOrder", "warning",
       plural(disordered.size(), "job has its", "jobs have their") +
           " nodes in an order that crosses leaf groups or NVLink domains more often than another would",
       "certain for rings in the order of the nodes; a library that orders rings by itself may do better",
       "each crossing sends the ring's bytes out of the group once more (" + most + ")",
       "order ranks as betterOrder lists their nodes, at the next start (SLURM_HOSTFILE, or Railweave's rank map)",
       site.commands.part(".sections.jobs.jobs"), disordered});
}

void add_unknown_hosts(ReportSection& section, const SiteView& site, const std::vector<PlacedJob>& jobs) {
  std::set<std::string> names;
  for (const PlacedJob& placed : jobs) names.insert(placed.unknown_hosts.begin(), placed.unknown_hosts.end());
  if (names.empty()) return;
  section.advice.push_back(
      {"jobHostsUnknown",
       "warning",
       plural(names.size(), "host of running jobs is", "hosts of running jobs are") + " in no other source",
       "certain that no source but the list of jobs names them",
       "what is said of these jobs is said of their other hosts alone",
       "add the dump of their subnet, or compare the names: adapters are found by their node descriptions",
       site.commands.part(".sections.jobs.jobs"),
       {names.begin(), names.end()}});
}

void add_partitions(ReportSection& section, const SiteView& site, const std::vector<PlacedJob>& jobs) {
  std::vector<std::string> apart;
  for (const PlacedJob& placed : jobs) {
    if (!share_a_partition(*site.topology, placed.hosts)) apart.push_back(label_of(placed));
  }
  if (apart.empty()) return;
  section.advice.push_back(
      {"jobsAcrossPartitions", "error",
       plural(apart.size(), "job has", "jobs have") + " hosts that share no partition of the subnet",
       "certain, as far as partitions and the list of jobs are of one time",
       "its ranks cannot reach each other over InfiniBand: they fail, or go by another network",
       "give the job nodes of one partition, or add their ports to it in UFM",
       site.commands.part(".sections.jobs.jobs"), apart});
}

void add_sharing(ReportSection& section, const SiteView& site, const std::vector<PlacedJob>& jobs) {
  if (!site.own) return;
  const fabric::ForwardingTables& tables = site.held ? site.held->tables : site.own->routing.tables;
  const auto shared = shared_ports(site.own->view, tables, jobs);
  Json rows = Json::array();
  ReportTable table{{"port", "from", "to", "jobs"}, {}, 0};
  std::set<std::size_t> concerned;
  for (const SharedPort& port : shared) {
    std::string names;
    Json ids = Json::array();
    for (const std::size_t j : port.jobs) {
      concerned.insert(j);
      ids.push_back(jobs[j].job.id);
      names += (names.empty() ? "" : ", ") + label_of(jobs[j]);
    }
    table.add({port.port, port.from, port.to, names}, kPortsShown);
    if (rows.size() == kMaxPorts) continue;
    rows.push_back({{"port", port.port}, {"from", port.from}, {"to", port.to}, {"jobs", std::move(ids)}});
  }
  section.data["sharedPorts"] = std::move(rows);
  section.data["sharedPortCount"] = shared.size();
  if (shared.empty()) return;
  section.tables.push_back(std::move(table));
  std::vector<std::string> names;
  for (const std::size_t j : concerned) names.push_back(label_of(jobs[j]));
  section.advice.push_back(
      {"portsShared", "warning",
       plural(shared.size(), "port between switches carries", "ports between switches carry") +
           " rings of several jobs",
       site.held ? "certain for rings over the tables that switches hold; other traffic is not looked at"
                 : "on Railweave's routes, as no dump of tables was given; those of the switches may differ",
       fmt::format("where {} jobs send at once, each has a part of the port's rate: their steps vary with each other's",
                   shared.front().jobs.size()),
       "place jobs inside leaf groups, or give the important ones a guarantee",
       site.commands.part(".sections.jobs.sharedPorts"), names});
}

}  // namespace

ReportSection jobs_section(const SiteView& site) {
  ReportSection section{.id = "jobs", .title = "Jobs that run"};
  if (!site.jobs_given) {
    section.text =
        "No list of running jobs was given (squeue --json, or kubectl get pods -A -o json). Hosts by leaf group:";
    section.pictures.push_back(squares(site, {}));
    return section;
  }
  const auto jobs = place_running(*site.topology, site.locality, site.running.jobs);
  Json rows = Json::array();
  const bool has_domains =
      std::ranges::any_of(jobs, [](const PlacedJob& placed) { return placed.nvlink_domains.fewest > 0; });
  ReportTable table{{"job", "user", "hosts", "GPUs", "leaf groups (fewest)", "ring crossings (fewest)"}, {}, 0};
  if (has_domains) table.titles.insert(table.titles.end(), {"NVLink domains (fewest)", "their crossings (fewest)"});
  std::size_t unknown = 0;
  for (const PlacedJob& placed : jobs) {
    rows.push_back(job_json(*site.topology, placed));
    unknown += placed.unknown_hosts.size();
    const LevelUse &groups = placed.leaf_groups, &domains = placed.nvlink_domains;
    std::vector<std::string> cells = {label_of(placed),
                                      placed.job.user,
                                      std::to_string(placed.hosts.size()),
                                      placed.job.gpus == 0 ? "-" : std::to_string(placed.job.gpus),
                                      fmt::format("{} ({})", groups.used, groups.fewest),
                                      fmt::format("{} ({})", groups.crossings, groups.fewest_crossings)};
    if (has_domains) {
      cells.push_back(fmt::format("{} ({})", domains.used, domains.fewest));
      cells.push_back(fmt::format("{} ({})", domains.crossings, domains.fewest_crossings));
    }
    table.add(std::move(cells));
  }
  section.data["jobs"] = std::move(rows);
  section.data["leftOut"] = site.running.left_out;
  section.facts = {{"running jobs", std::to_string(jobs.size())},
                   {"hosts of jobs that no source knows", std::to_string(unknown)},
                   {"rows left out", std::to_string(site.running.left_out_count)}};
  section.pictures.push_back(squares(site, jobs));
  section.text = "Each square is a host, each row a leaf group; a colour is a job, a frame a host that lacks a rail.";
  section.tables.push_back(std::move(table));
  add_straddling(section, site, jobs, &PlacedJob::leaf_groups, "jobsStraddle", "leaf groups",
                 "their traffic crosses spines that others use, too");
  add_straddling(section, site, jobs, &PlacedJob::nvlink_domains, "jobsStraddleDomains", "NVLink domains",
                 "what they send between domains goes over adapters instead of NVLink");
  add_disorder(section, site, jobs);
  add_unknown_hosts(section, site, jobs);
  if (!site.running.left_out.empty()) {
    section.advice.push_back(rows_left_out(site.running.left_out_count, site.running.left_out,
                                           site.commands.part(".sections.jobs.leftOut")));
  }
  add_partitions(section, site, jobs);
  add_sharing(section, site, jobs);
  return section;
}

}  // namespace railweave::cli
