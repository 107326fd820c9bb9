#include "services/control/guarantees/job_repair.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/core.h>

#include "services/control/guarantees/alarms.h"
#include "services/control/guarantees/repair.h"
#include "services/control/views/closed_gpus.h"
#include "services/control/views/cpu_roles.h"
#include "services/control/views/site_link_jobs.h"

namespace railweave::control {

using fabric::GpuId;

namespace {

// Ascending, each once.
std::vector<GpuId> both(const std::vector<GpuId>& a, const std::vector<GpuId>& b) {
  std::vector<GpuId> all;
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all;
}

bool has_member_on(const scheduler::Placement& placement, std::span<const std::string> nodes) {
  return std::ranges::any_of(placement.cpu_seats, [&](const scheduler::CpuSeats& role) {
    return std::ranges::any_of(role.nodes,
                               [&](const std::string& node) { return std::ranges::find(nodes, node) != nodes.end(); });
  });
}

// The job, whose members are to leave nodes that are lost: those named, and those of lost GPUs where no rank stays.
scheduler::JobSpec off_lost_nodes(const ClusterState& state, scheduler::JobSpec spec, std::span<const GpuId> lost,
                                  std::span<const std::string> lost_nodes, const scheduler::RepairPlan& plan) {
  if (spec.cpu_roles.empty()) return spec;
  const auto& t = state.topology();
  spec.exclude_nodes.insert(spec.exclude_nodes.end(), lost_nodes.begin(), lost_nodes.end());
  for (const GpuId gpu : lost) {
    const auto stays = [&](GpuId other) { return t.host(other) == t.host(gpu); };
    if (std::ranges::none_of(plan.gpu_of_rank, stays)) spec.exclude_nodes.emplace_back(t.name(t.host(gpu)));
  }
  return spec;
}

// Why the job cannot be repaired now; "": it can.
std::string no_repair(const ClusterState& state, const Job& job, const std::vector<GpuId>& lost, PlacerCache& placers,
                      std::int64_t now_us) {
  const auto plan = plan_job_repair(state, job, lost, placers, now_us);
  return plan ? std::string() : plan.error().message;
}

}  // namespace

std::string loss_text(const fabric::Topology& topology, const std::vector<fabric::GpuId>& lost) {
  std::vector<std::string> nodes;
  for (const auto gpu : lost) {
    std::string name(topology.name(topology.host(gpu)));
    if (std::ranges::find(nodes, name) == nodes.end()) nodes.push_back(std::move(name));
  }
  std::string text = fmt::format("{}{}", lost.size(), lost.size() == 1 ? " GPU on " : " GPUs on ");
  for (std::size_t i = 0; i < nodes.size() && i < 5; ++i) text += (i == 0 ? "" : ", ") + nodes[i];
  return nodes.size() > 5 ? fmt::format("{} and {} more nodes", text, nodes.size() - 5) : text;
}

std::string cut_off_text(const ClusterState& state, const Job& job, const std::vector<fabric::GpuId>& lost) {
  const auto& topology = state.topology();
  std::string text = loss_text(topology, lost) + " cut off";
  const auto site = [&](fabric::GpuId gpu) { return topology.site(topology.host(gpu)); };
  const auto& gpus = job.placement.gpu_of_rank;
  const bool spans = std::ranges::any_of(gpus, [&](fabric::GpuId gpu) { return site(gpu) != site(gpus.front()); });
  if (!spans) return text;
  const std::string out = site_links_out_text(state);
  return out.empty() ? text : text + ", " + out;
}

Result<scheduler::RepairPlan> plan_job_repair(const ClusterState& state, const Job& job,
                                              const std::vector<fabric::GpuId>& lost, PlacerCache& placers,
                                              std::int64_t now_us) {
  const auto closed = closed_gpus(state, job.spec.tenant, now_us, expected_end_us(state, job, now_us));
  const scheduler::CutOff cut_off = [&](std::span<const fabric::GpuId> gpu_of_rank) {
    return placers.reach(state).cut_off(job.spec, gpu_of_rank);
  };
  return scheduler::plan_repair(placers.at(state),
                                {.spec = &job.spec,
                                 .gpu_of_rank = job.placement.gpu_of_rank,
                                 .block_gpus = job.placement.block_gpus,
                                 .idle_gpus = job.placement.idle_gpus,
                                 .closed = closed.gpus,
                                 .cut_off = &cut_off},
                                lost);
}

Result<RequestedRepair> plan_requested_repair(const ClusterState& state, const RepairJob& command, PlacerCache& placers,
                                              std::int64_t now_us) {
  const JobPtr job = state.jobs.find(command.id);
  if (job == nullptr)
    return fail(ErrorKind::notFound, "jobs.notFound", fmt::format("there is no {}", to_string(command.id)));
  if (!job->holds_gpus()) {
    return fail(ErrorKind::conflict, "jobs.notRunning",
                fmt::format("{} is {}: only placed jobs can be repaired", to_string(job->id), to_string(job->state)));
  }
  if (job->is_releasing()) {
    return std::unexpected(error_of(ErrorKind::conflict, "jobs.releasing",
                                    fmt::format("{} is to free its GPUs: ", to_string(job->id)) + job->launch->reason,
                                    {}, "its ranks move no more; repair it when it has been placed again"));
  }
  const auto& topology = state.topology();
  RequestedRepair repair;
  if (command.for_guarantee) {
    if (!job->guarantee || !job->guarantee->at_risk()) {
      return fail(ErrorKind::conflict, "jobs.guaranteeHolds",
                  fmt::format("{} has no guarantee at risk", to_string(job->id)));
    }
    auto move = plan_guarantee_move(state, *job, placers, now_us);
    if (!move) {
      return fail(ErrorKind::conflict, "repair.noSpare",
                  fmt::format("no other nodes are known on which the guarantee of {} would hold", to_string(job->id)));
    }
    repair.lost = std::move(move->vacated);
    repair.plan = std::move(move->plan);
    return repair;
  }
  std::set<fabric::GpuId> named;
  const auto host_of = [&](const std::string& name) -> Result<fabric::HostId> {
    const auto host = topology.find_host(name);
    if (!host) return fail(ErrorKind::notFound, "nodes.notFound", "there is no node '" + name + "'");
    return host;
  };
  for (const auto& name : command.nodes) {
    const auto host = host_of(name);
    if (!host) return std::unexpected(host.error());
    for (const auto gpu : topology.gpus(*host)) named.insert(gpu);
  }
  for (const auto& [name, local] : command.gpus) {
    const auto host = host_of(name);
    if (!host) return std::unexpected(host.error());
    if (local >= topology.gpus(*host).size()) {
      return fail(ErrorKind::notFound, "nodes.notFound",
                  fmt::format("node '{}' has no GPU {}: it has {}", name, local, topology.gpus(*host).size()));
    }
    named.insert(topology.gpus(*host)[local]);
  }
  repair.lost = placers.lost_gpus(state, *job);
  for (const auto gpu : declared_lost(state, *job)) repair.lost.push_back(gpu);
  for (const auto gpu : job->placement.gpu_of_rank) {
    if (named.contains(gpu)) repair.lost.push_back(gpu);
  }
  std::ranges::sort(repair.lost);
  const auto repeated = std::ranges::unique(repair.lost);
  repair.lost.erase(repeated.begin(), repeated.end());
  // Members of CPU-only roles on nodes that are named as lost, or that take no jobs, move with any repair.
  const bool seats_lost = has_lost_member(state, job->placement) || has_member_on(job->placement, command.nodes);
  if (repair.lost.empty() && !seats_lost && job_violations(state, *job).empty()) {
    return fail(ErrorKind::conflict, "jobs.notDamaged",
                fmt::format("{} has no rank on a lost node or GPU", to_string(job->id)), {},
                "name the lost nodes or GPUs in 'nodes' or 'gpus'");
  }
  repair.to_drain = named_as_lost(state, command);
  // Ranks must not move to any GPU that is named as lost, either.
  std::vector<fabric::GpuId> unusable(named.begin(), named.end());
  unusable.insert(unusable.end(), repair.lost.begin(), repair.lost.end());
  auto plan = plan_job_repair(state, *job, unusable, placers, now_us);
  if (!plan) return std::unexpected(plan.error());
  repair.plan = std::move(*plan);
  auto& placer = placers.at(state);
  repair.before = placer.predict(job->spec, job->placement.gpu_of_rank);
  repair.after = placer.predict(job->spec, repair.plan.gpu_of_rank);
  repair.lost_gpu_s = static_cast<double>(now_us - std::max(job->started_us, job->saved_us)) / 1e6 *
                      static_cast<double>(job->placement.held_gpus().size());
  return repair;
}

std::vector<DrainTarget> named_as_lost(const ClusterState& state, const RepairJob& command) {
  std::set<DrainTarget> named;
  for (const auto& node : command.nodes) named.insert({DrainKind::node, node});
  for (const auto& [node, index] : command.gpus) named.insert({DrainKind::gpu, fmt::format("{}:{}", node, index)});
  std::vector<DrainTarget> targets;
  for (const auto& target : named) {
    const bool known = target.kind == DrainKind::node ? static_cast<bool>(state.topology().find_host(target.id))
                                                      : static_cast<bool>(find_gpu(state.topology(), target.id));
    if (known && !state.drains->contains(target)) targets.push_back(target);
  }
  return targets;
}

std::vector<scheduler::PlacementViolation> job_violations(const ClusterState& state, const Job& job) {
  const auto held = job.placement.held_gpus();
  return scheduler::check_placement({.topology = state.topology(),
                                     .locality = state.placement_fabric->locality(),
                                     .spec = job.spec,
                                     .gpu_of_rank = job.placement.gpu_of_rank,
                                     .idle_gpus = job.placement.idle_gpus,
                                     .before = held,
                                     .spares_may_be_used_up = true});
}

namespace {

// GPUs where processes of the job may run on after it has moved: another program started them, and ends them.
std::vector<std::string> left_by(const ClusterState& state, const Job& job, const scheduler::Placement& after) {
  std::vector<std::string> left;
  if (!job.launch || job.launch->phase == LaunchPhase::offered) return left;
  auto kept = after.held_gpus();
  std::ranges::sort(kept);
  for (const auto gpu : job.placement.held_gpus()) {
    if (!std::ranges::binary_search(kept, gpu)) left.push_back(gpu_text(state.topology(), gpu));
  }
  return left;
}

}  // namespace

JobMoved moved(const ClusterState& state, const Job& job, const std::vector<fabric::GpuId>& lost,
               const scheduler::RepairPlan& plan, const std::string& reason, PlacerCache& placers,
               std::span<const std::string> lost_nodes) {
  std::string text = fmt::format("{}{}", plan.moves.size(), plan.moves.size() == 1 ? " rank moves" : " ranks move");
  if (plan.moved_whole) {
    text += ", the whole job is placed again from scratch";
  } else if (!plan.moves.empty() || job.spec.cpu_roles.empty()) {
    text += " within one " + std::string(to_string(plan.nearest));
  }
  if (!lost.empty()) text += ", away from " + loss_text(state.topology(), lost);
  constexpr std::size_t kMaxNamed = 8;
  for (std::size_t i = 0; i < plan.moves.size() && i < kMaxNamed; ++i) {
    const auto& one = plan.moves[i];
    text += fmt::format("{}{} {} > {}", i == 0 ? " (rank " : ", rank ", one.rank, gpu_text(state.topology(), one.from),
                        gpu_text(state.topology(), one.to));
  }
  if (plan.moves.size() > kMaxNamed) text += fmt::format(" and {} more", plan.moves.size() - kMaxNamed);
  if (!plan.moves.empty()) text += ")";
  if (!reason.empty()) text += ": " + reason;
  auto predicted = placers.at(state).predict(job.spec, plan.gpu_of_rank);
  scheduler::Placement placement;
  placement.gpu_of_rank = plan.gpu_of_rank;
  placement.idle_gpus = plan.idle_gpus;
  seat_cpu_roles(state, off_lost_nodes(state, job.spec, lost, lost_nodes, plan), placement);
  return {job.id,
          plan.gpu_of_rank,
          plan.idle_gpus,
          plan.moves.size(),
          Message("job.moved", {std::move(text)}),
          std::move(predicted),
          std::move(placement.cpu_seats),
          left_by(state, job, placement)};
}

std::vector<GpuId> declared_lost(const ClusterState& state, const Job& job) {
  const auto& t = state.topology();
  std::vector<GpuId> lost;
  for (const auto& text : job.lost) {
    const auto gpu = find_gpu(t, text);
    if (!gpu || std::ranges::find(job.placement.gpu_of_rank, gpu) == job.placement.gpu_of_rank.end()) continue;
    const bool drained = state.drains->contains({DrainKind::node, std::string(t.name(t.host(gpu)))}) ||
                         state.drains->contains({DrainKind::gpu, text});
    if (drained) lost.push_back(gpu);
  }
  std::ranges::sort(lost);
  return lost;
}

void add_unrepaired(const ClusterState& state, const Job& job, const RepairJob& command, const std::string& why,
                    std::vector<EventBody>& events) {
  const auto& t = state.topology();
  std::vector<GpuId> lost;
  JobDamaged damaged{job.id, {}, {}};
  for (const GpuId gpu : job.placement.gpu_of_rank) {
    const std::string node(t.name(t.host(gpu)));
    const bool named = std::ranges::find(command.nodes, node) != command.nodes.end() ||
                       std::ranges::find(command.gpus, std::pair(node, t.local_index(gpu))) != command.gpus.end();
    if (!named) continue;
    lost.push_back(gpu);
    damaged.lost.push_back(gpu_text(t, gpu));
  }
  if (lost.empty()) return;
  damaged.damage = Message("job.damaged", {loss_text(t, lost) + " lost: no repair: " + why});
  raise_damage_alarm(state, job, damaged.damage, events);
  events.emplace_back(std::move(damaged));
}

std::vector<EventBody> next_damage(const ClusterState& state, PlacerCache& placers, std::int64_t now_us,
                                   std::int64_t& due_us) {
  due_us = 0;
  RankReach& reach = placers.rank_reach(state);
  std::vector<EventBody> events = cleared_damage_alarms(state);
  if (!events.empty()) return events;
  const auto look_at = [&](const JobPtr& job) {
    const auto cut_off = placers.lost_gpus(state, *job);
    const auto declared = declared_lost(state, *job);
    const auto lost = both(cut_off, declared);
    if (lost.empty()) {
      if (job->damage.empty()) {
        reach.note_whole(job->id);
        return true;
      }
      if (job_violations(state, *job).empty()) {
        events.emplace_back(JobDamaged{job->id, {}});
      } else {  // by an import, which says why
        raise_damage_alarm(state, *job, job->damage, events);
      }
      return events.empty();
    }
    const auto tenant = state.tenants->find(job->spec.tenant);
    const bool apply =
        tenant != state.tenants->end() && tenant->second.repair == RepairPolicy::apply && !job->is_releasing();
    std::string damage = cut_off.empty() ? std::string() : cut_off_text(state, *job, cut_off);
    if (!declared.empty()) damage += (damage.empty() ? "" : ", ") + loss_text(state.topology(), declared) + " lost";
    damage += ": ";
    const std::int64_t grace_us = apply ? std::int64_t{tenant->second.repair_after_s} * 1'000'000 : 0;
    const bool waits = grace_us > 0 && (job->damaged_us == 0 || now_us < job->damaged_us + grace_us);
    if (waits) {
      const std::int64_t at_us = (job->damaged_us == 0 ? now_us : job->damaged_us) + grace_us;
      due_us = due_us == 0 ? at_us : std::min(due_us, at_us);
      damage += fmt::format("its ranks move if this lasts for {} s", tenant->second.repair_after_s);
    } else if (apply) {
      const auto plan = plan_job_repair(state, *job, lost, placers, now_us);
      if (plan) {
        events.emplace_back(moved(state, *job, lost, *plan, "as its tenant's repair policy says", placers));
        return false;
      }
      damage += "no repair: " + plan.error().message;
    } else if (const auto none = declared.empty() ? std::string() : no_repair(state, *job, lost, placers, now_us);
               !none.empty()) {
      damage += "no repair: " + none;
    } else {
      damage += fmt::format("POST /v1/jobs/{}/repair moves their ranks", to_string(job->id));
    }
    const Message said("job.damaged", {std::move(damage)});
    if (said != job->damage) events.emplace_back(JobDamaged{job->id, said});
    raise_damage_alarm(state, *job, said, events);
    return events.empty();
  };
  for (const JobPtr& job : reach.to_look_at(state.jobs)) {
    if (!look_at(job)) break;
  }
  return events;
}

}  // namespace railweave::control
