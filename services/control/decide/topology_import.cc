#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/topology/site_link_name.h"
#include "services/control/decide/commands.h"
#include "services/control/decide/moved_drains.h"
#include "services/control/decide/refusal.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/job_repair.h"
#include "services/control/state/link_state.h"

namespace railweave::control {
namespace {

// What becomes of jobs, drains and reservations when a topology is accepted: first what has to happen on the present
// one, then the change itself, then what differs after it.
class Import {
 public:
  Import(const DecisionInput& in, const AcceptTopology& command)
      : in_(in),
        command_(command),
        renamed_(fabric::renamed_hosts(in.state.topology(), *command.topology)),
        working_(in.state) {}

  DecisionResult decide() {
    leave_lost_nodes();
    if (!lost_.empty() && !command_.force) return refuse_losses();
    for (auto& event : lost_) add(std::move(event));
    note_nodes();
    note_reservations();
    if (!command_.as_cabled && !command_.as_found) {
      note_drains();
      note_exchanged_cables();
    }
    note_site_links();
    add(TopologyAccepted{command_.topology, command_.document, command_.digest, command_.source, renamed_,
                         command_.as_cabled ? command_.as_cabled->subnet : std::string(),
                         command_.as_cabled ? command_.as_cabled->exchanged : 0});
    for (auto& event : differences_) add(std::move(event));
    if (command_.as_cabled) {
      for (const auto& cable : command_.as_cabled->cables) add(cable);
      keep_link_states();
      for (auto& event : moved_drains(in_.state, working_)) add(std::move(event));
    }
    if (command_.as_found) follow_what_was_found(*command_.as_found);
    check_jobs();
    return Decision{std::move(events_), {}, false};
  }

 private:
  void add(EventBody body) {
    apply(working_, Event{working_.seq + 1, working_.term, in_.now_us, {}, body});
    events_.push_back(std::move(body));
  }
  void follow_what_was_found(const AcceptTopology::AsFound& found) {
    for (const auto& change : found.changes) {
      if (differences_.size() + found.changes.size() <= TopologyDiffers::kMaxEvents) add(change);
    }
    keep_link_states();
    for (auto& event : drains_of_exchanged(in_.state, working_, found.exchanged)) add(std::move(event));
    for (auto& event : moved_drains(in_.state, working_)) add(std::move(event));
  }
  void differs(std::string kind, std::string id, std::string text) {
    if (differences_.size() < TopologyDiffers::kMaxEvents) {
      differences_.emplace_back(TopologyDiffers{std::move(kind), std::move(id), std::move(text)});
    }
  }
  [[nodiscard]] bool maps(fabric::GpuId gpu) const {
    return map_gpus(in_.state.topology(), *command_.topology, {gpu}, renamed_).has_value();
  }

  // On the present topology, where jobs still have all their GPUs: ranks leave nodes that the new one lacks.
  void leave_lost_nodes() {
    const auto& topology = in_.state.topology();
    std::vector<JobPtr> losing;
    in_.state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (!job->holds_gpus()) return true;
      if (!map_gpus(topology, *command_.topology, job->placement.gpu_of_rank, renamed_)) losing.push_back(job);
      return true;
    });
    if (losing.empty()) return;
    std::vector<fabric::GpuId> gone;
    for (const auto gpu : topology.gpus()) {
      if (!maps(gpu)) gone.push_back(gpu);
    }
    for (const JobPtr& job : losing) {
      std::string why = "its nodes are not in the new topology";
      if (command_.repair && job->is_releasing()) {
        why += ", and it is to free its GPUs: its ranks move no more";
      } else if (command_.repair) {
        const auto plan = plan_job_repair(working_, *job, gone, in_.placers, in_.now_us);
        if (plan) {
          std::vector<fabric::GpuId> lost;
          for (const auto& move : plan->moves) lost.push_back(move.from);
          add(moved(working_, *job, lost, *plan, "which an import takes away", in_.placers));
          continue;
        }
        why += ", and there is no repair: " + plan.error().message;
      }
      if (lost_.size() < 5) names_ += fmt::format("{}{}", names_.empty() ? "" : ", ", to_string(job->id));
      lost_.emplace_back(JobEnded{job->id, JobState::lost, Message("job.lost", {std::move(why)})});
    }
  }

  [[nodiscard]] DecisionResult refuse_losses() const {
    return refuse(
        ErrorKind::conflict, "topology.losesJobs",
        fmt::format("{} running job(s) use GPUs that are not in the new topology{}{}{}", lost_.size(),
                    command_.repair ? " and cannot be moved: " : ": ", names_, lost_.size() > 5 ? "..." : ""),
        std::string(command_.repair ? "" : "repeat the import with repair, which moves their ranks, ") +
            (command_.repair ? "end these jobs first, or repeat the import with force, which ends them as lost"
                             : "or with force, which ends the jobs as lost"));
  }

  void note_nodes() {
    for (const auto& [was, now] : renamed_) {
      if (now.empty()) {
        differs("node", was, "node " + was + " is gone; another node is called that now");
      } else {
        differs("node", now, "node " + was + " is called " + now + " now: its adapters' GUIDs are the same");
      }
    }
  }

  void note_reservations() {
    const auto& topology = in_.state.topology();
    for (const auto& [name, reservation] : *in_.state.reservations) {
      std::vector<fabric::GpuId> gone;
      for (const auto gpu : reservation.window.gpus) {
        if (!maps(gpu)) gone.push_back(gpu);
      }
      if (gone.empty()) continue;
      differs("reservation", name,
              fmt::format("{} '{}' loses {}, which the new topology lacks; put it again when they are back",
                          to_string(reservation.window.kind), name, loss_text(topology, gone)));
    }
  }

  void note_drains() {
    for (const auto& [target, drain] : *in_.state.drains) {
      const auto now = renamed_target(target, renamed_);
      if (!now) {
        differs("drain", target.id, fmt::format("the drain of {} ends: the node is gone", to_string(target)));
      } else if (resolves(in_.state.topology(), target) && !resolves(*command_.topology, *now)) {
        differs("drain", target.id,
                fmt::format("the new topology has no {}; it stays drained if it comes back", to_string(target)));
      }
    }
  }
  // Of the cables that are where they were; those that were exchanged were found up.
  void keep_link_states() {
    const auto& before = in_.state.topology();
    std::map<std::string, LinksChanged> by_subnet;
    const auto tell = [this](const std::string& subnet, LinksChanged& changed) {
      changed.subnet = subnet;
      if (!changed.links.empty()) add(std::exchange(changed, {}));
    };
    for (const auto link : before.links()) {
      const auto state = in_.state.view.state(link);
      if (state == fabric::LinkState::up && in_.state.view.rate_seen(link).value() == 0) continue;
      const auto port = before.is_switch_port(before.a(link)) ? before.a(link) : before.b(link);
      const auto subnet = before.subnet(port);
      std::string name = before.link_text(link);
      if (!working_.topology().find_link(name)) continue;
      const auto of = by_subnet.try_emplace(subnet ? std::string(before.name(subnet)) : std::string()).first;
      of->second.links.push_back({.link = std::move(name), .state = state, .rate = in_.state.view.rate_seen(link)});
      if (of->second.links.size() == LinksChanged::kMaxLinks) tell(of->first, of->second);
    }
    for (auto& [subnet, changed] : by_subnet) tell(subnet, changed);
  }
  // Cables that were used although they are not as intended, and that the operator accepts with this import.
  void note_exchanged_cables() {
    if (!in_.state.accepted.intended) return;
    const auto& intended = *in_.state.accepted.intended->topology;
    const auto& now = *command_.topology;
    for (const auto link : now.links()) {
      if (now.kind(link) == fabric::LinkKind::nvlink) continue;
      const std::string name = now.link_text(link);
      if (intended.find_link(name) || !in_.state.topology().find_link(name)) continue;
      differs("link", name, "link " + name + " was of exchanged cables; it is accepted as it is from now on");
    }
  }
  void note_site_links() {
    const auto& topology = in_.state.topology();
    for (const auto link : fabric::site_link_ids(topology)) {
      const auto state = in_.state.view.state(link);
      const std::string name = fabric::site_link_text(topology, link);
      if (state == fabric::LinkState::up || fabric::find_site_link(*command_.topology, name)) continue;
      differs("link", name,
              fmt::format("the new topology has no link {}, which is reported {}; if it comes back it counts as up "
                          "until it is reported again",
                          name, to_string(state)));
    }
  }
  static bool resolves(const fabric::Topology& topology, const DrainTarget& target) {
    return resolve(topology, target.kind, target.id).has_value();
  }

  // On the new topology: what jobs require of where they are, and what they held idle.
  void check_jobs() {
    std::vector<JobPtr> running;
    working_.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (job->holds_gpus() && !job->is_releasing()) running.push_back(job);
      return true;
    });
    for (const JobPtr& job : running) {
      const JobPtr before = in_.state.jobs.find(job->id);
      const auto broken = job_violations(working_, *job);
      if (broken.empty() || !job_violations(in_.state, *before).empty()) continue;
      const std::string why = "what it requires does not hold in the imported fabric: " + text(broken);
      if (command_.repair) {
        const auto plan = plan_job_repair(working_, *job, {}, in_.placers, in_.now_us);
        if (plan) {
          add(moved(working_, *job, {}, *plan, why, in_.placers));
          continue;
        }
      }
      if (job->damage.empty()) {
        add(JobDamaged{job->id, Message("job.damaged", {fmt::format("{}; railweave jobs repair {} moves its ranks", why,
                                                                    to_string(job->id))})});
      }
    }
  }

  const DecisionInput& in_;
  const AcceptTopology& command_;
  const fabric::RenamedHosts renamed_;
  ClusterState working_;
  std::vector<EventBody> events_, lost_, differences_;
  std::string names_;  // of the first jobs in lost_
};

}  // namespace

DecisionResult decide_command(const DecisionInput& in, const AcceptTopology& command) {
  const ClusterState& state = in.state;
  if (command.if_version && *command.if_version != state.accepted.version) {
    return refuse_version("the topology", *command.if_version, state.accepted.version);
  }
  // The same again changes nothing, unless an operator accepts cables that are exchanged.
  if (command.digest == state.accepted.digest && (command.as_cabled || !state.accepted.intended)) return Decision{};
  return Import(in, command).decide();
}

}  // namespace railweave::control
