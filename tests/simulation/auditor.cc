#include "tests/simulation/auditor.h"

#include "services/control/events/apply.h"
#include "services/control/guarantees/alarms.h"
#include "tests/simulation/naive_reservations.h"

namespace railweave::simulation {

using namespace control;  // NOLINT: this file is about its types

std::string Auditor::follow() {
  const BlobReader blobs = [this](const std::string& digest) -> Result<std::optional<std::string>> {
    const auto found = store_.blobs.find(digest);
    return found == store_.blobs.end() ? std::nullopt : std::optional(found->second);
  };
  while (state_.seq < store_.records.size()) {
    const auto& record = store_.records[state_.seq];
    auto event = codec_.decode(record, state_, blobs);
    if (!event) return "record " + std::to_string(record.seq) + " cannot be read: " + event.error().text();
    apply(state_, *event);
    trace_.note("event " + std::to_string(record.seq) + " " + record.kind + " " + record.subject_id);
    const JobPtr* job = nullptr;
    if (const auto* queued = std::get_if<JobQueued>(&event->body)) job = &queued->job;
    if (const auto* placed = std::get_if<JobPlaced>(&event->body)) job = &placed->job;
    if (const auto* moved = std::get_if<JobMoved>(&event->body)) repaired_.insert(moved->id);
    if (job != nullptr) jobs_by_name_[(*job)->spec.name].insert((*job)->id);
    // The book takes the same steps as a service's, but not always one at a time.
    if (state_.seq % 3 == 0) {
      if (auto fault = check_state(); !fault.empty()) return fault;
    }
  }
  if (checked_seq_ == state_.seq) return {};
  checked_seq_ = state_.seq;
  // Alarms follow within the transaction, which ends here.
  if (auto fault = check_state(); !fault.empty()) return fault;
  return check_alarms();
}

std::size_t Auditor::jobs_called(const std::string& name) const {
  const auto found = jobs_by_name_.find(name);
  return found == jobs_by_name_.end() ? 0 : found->second.size();
}

std::string Auditor::compare(const ClusterState& published, const char* whose) const {
  if (published.seq != state_.seq) return {};
  const std::string text = codec_.encode_state(published);
  const std::string expected = state_text();
  if (text == expected) return {};
  std::size_t at = 0;
  while (at < text.size() && at < expected.size() && text[at] == expected[at]) ++at;
  const std::size_t from = at < 80 ? 0 : at - 80;
  return std::string(whose) + " is not what the journal gives: ..." + text.substr(from, 200) + "... instead of ..." +
         expected.substr(from, 200);
}

std::string Auditor::check_state() {
  if (auto fault = check_gpus(); !fault.empty()) return fault;
  return state_.accepted.digest.empty() ? "" : check_ledger();
}

std::string Auditor::check_gpus() const {
  std::map<fabric::GpuId, JobId> owner;
  std::string fault;
  state_.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (job->state != JobState::placed) return true;
    for (const auto gpu : job->placement.held_gpus()) {
      if (owner.emplace(gpu, job->id).second) continue;
      fault = gpu_text(state_.topology(), gpu) + " belongs to " + to_string(owner[gpu]) + " and " + to_string(job->id);
    }
    return true;
  });
  const auto& t = state_.topology();
  std::uint64_t free = 0;
  for (const auto gpu : t.gpus()) {
    const bool used = (state_.allocations[t.host(gpu).index()].used >> t.local_index(gpu) & 1U) != 0;
    free += used ? 0 : 1;
    if (used != owner.contains(gpu)) fault = gpu_text(t, gpu) + (used ? " is taken by no job" : " is free and owned");
  }
  if (free != state_.free_gpus) fault = "the number of free GPUs is wrong";
  return fault;
}

std::string Auditor::check_ledger() {
  if (auto brought = book_.bring_to(state_); !brought) return {};  // no routes
  const auto naive = naive_reservations(state_, *book_.routes());
  const auto& ledger = book_.ledger();
  const auto& t = state_.topology();
  for (fabric::DirectedLink link = 0; link < ledger.links(); ++link) {
    for (std::uint8_t c = 0; c < ledger.classes(); ++c) {
      const auto found = naive.mbps.find({link, c});
      const std::int64_t expected = found == naive.mbps.end() ? 0 : found->second;
      const std::int64_t has = ledger.reserved_mbps(link, c);
      const std::string text = t.link_text(fabric::LinkId(link / 2)) + " class " + std::to_string(c) + ": " +
                               std::to_string(has) + " Mb/s reserved";
      if (has < expected || (has != expected && !naive.least)) {
        return text + ", jobs need " + std::to_string(expected) + " at record " + std::to_string(state_.seq);
      }
    }
  }
  return {};
}

std::string Auditor::check_alarms() const {
  std::string fault;
  state_.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    const bool at_risk = job->state == JobState::placed && job->guarantee && job->guarantee->at_risk();
    const bool named = state_.alarms->contains(std::string(kGuaranteeAlarm) + ":" + to_string(job->id));
    if (at_risk != named)
      fault = to_string(job->id) + (named ? " has an alarm" : " has no alarm") + " of its guarantee";
    return true;
  });
  return fault;
}

std::string Auditor::check_fabric(SimulatedFabric& fabric) {
  for (const auto& network : fabric.subnets()) {
    if (auto fault = check_subnet(*network); !fault.empty()) return fault;
  }
  return {};
}

std::string Auditor::check_subnet(SimulatedSubnet& network) {
  const std::pair<std::uint64_t, std::uint64_t> now{network.changes, state_.seq};
  if (auto& last = walked_[network.name()]; last == now) {
    return {};
  } else {
    last = now;
  }
  const Walked walked = walk_tables(network);
  if (!walked.loop.empty()) return "packets loop: " + walked.loop;
  loops_[network.name()] = walked.silent_loop;
  for (const auto& [target, drain] : *state_.drains) {
    if (drain.state != DrainState::drained) continue;
    for (const auto& [cable, pair] : walked.carried) {
      if (target.kind != DrainKind::link || network.link_text(*cable) != target.id) continue;
      return to_string(target) + " is drained and carries " + network.name(pair.first) + " to " +
             network.name(pair.second);
    }
    for (const auto& [sw, pair] : walked.through) {
      if (target.kind != DrainKind::network_switch || to_string(Guid(network.subnet.node(sw).guid)) != target.id)
        continue;
      return to_string(target) + " is drained and carries " + network.name(pair.first) + " to " +
             network.name(pair.second);
    }
  }
  return {};
}

}  // namespace railweave::simulation
