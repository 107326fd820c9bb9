#include "services/slurm/operator.h"

#include <algorithm>
#include <iterator>

#include "fabric/formats/slurm/hostlist.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::slurm {
namespace {

constexpr const char* kTurn =
    "waits for its turn";  // seen in the log; to tell each job would take as long as to place it
constexpr std::size_t kMostSaid = 10'000;
constexpr std::size_t kMostReason = 240;  // characters; squeue_format() reads 320

constexpr std::size_t kMostRanks = 60'000;  // characters; what a job's tasks are told

std::string mark_of(const std::string& words, std::size_t most = kMostReason) {
  std::string mark = "AdminComment=railweave: ";
  for (const char c : words.substr(0, most))
    mark += c < ' ' || c == '"' || c == '\'' || c == '\\' || c == 0x7F ? ' ' : c;
  return mark;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

}  // namespace

CycleReport Operator::cycle(std::int64_t now_s) {
  // Railweave first: a job that ends in between is seen to have ended in the next cycle, and none is ended too soon.
  Situation situation{.placements = placements_.active(), .now_s = now_s, .patience_s = options_.patience_s};
  SlurmNodes nodes = cli::value_or_fail(slurm_.nodes());
  const SlurmJobs read = cli::value_or_fail(slurm_.jobs());
  situation.jobs = &read.jobs;
  situation.unavailable = std::move(nodes.unavailable);
  // Jobs without GPUs are none that Railweave knows of; a node that they fill is of no use to others.
  for (const SlurmJob& job : read.jobs) {
    if (job.pending() || job.gpus > 0) continue;
    std::ranges::copy_if(job.running, std::back_inserter(situation.unavailable),
                         [&](const std::string& node) { return std::ranges::binary_search(nodes.full, node); });
  }
  std::ranges::sort(situation.unavailable);
  CycleReport report{.jobs = read.jobs.size()};
  if (read.unreadable > 0) {
    // Whose lines they are is not known, so no placement is taken for one without a job.
    say_once(std::to_string(read.unreadable) +
             " lines of squeue have line ends in them; ends of jobs wait until they are gone");
  }
  Plan plan = make_plan(situation);
  if (read.unreadable > 0) plan.end.clear();
  end(plan, report);
  adopt(plan, situation, report);
  repin(plan, situation, report);
  leave(plan, report);
  place(plan, situation, report);
  return report;
}

void Operator::end(const Plan& plan, CycleReport& report) {
  for (const std::string& placement : plan.end) {
    placements_.end(placement, "its Slurm job has ended");
    ++report.ended;
  }
}

void Operator::adopt(const Plan& plan, const Situation& situation, CycleReport& report) {
  std::vector<const SlurmJob*> wanted = plan.adopt;
  for (const SlurmJob* job : plan.verify) {
    const std::string& held = situation.placements.at(job->key());
    const std::vector<std::string> nodes = placements_.nodes(held);
    if (sorted(nodes) == sorted(job->running)) {
      update(job->id, {placed_mark({held, nodes, {}}, "")});
    } else {
      placements_.end(held, "its Slurm job began elsewhere");
      ++report.ended;
      wanted.push_back(job);
    }
  }
  if (wanted.size() > options_.most_placed) wanted.resize(options_.most_placed);
  std::vector<Placements::Ask> asks;
  for (const SlurmJob* job : wanted) asks.push_back({job, job->running});
  const std::vector<Placed> answers = placements_.place(asks, {});
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const SlurmJob* job = wanted[i];
    const Placed& placed = answers[i];
    if (placed.id.empty()) {
      say_once("job " + job->id + " runs on GPUs that Railweave cannot hold for it: " + placed.reason);
      continue;
    }
    ++report.adopted;
    update({job->id}, {placed_mark(placed, "where Slurm began it")});
  }
}

void Operator::repin(const Plan& plan, const Situation& situation, CycleReport& report) {
  for (const SlurmJob* job : plan.repin) {
    // Unpinned first: a job that is not placed must not wait for nodes.
    update({job->id},
           {"ReqNodeList=", "StartTime=now+" + std::to_string(options_.grace_s), mark_of("waits to be placed again")});
    placements_.end(situation.placements.at(job->key()), "its Slurm job could not begin: " + job->reason);
    ++report.repinned;
    say_("job " + job->id + " could not begin on " + fabric::compress_hostlist(job->pinned) + " (" + job->reason +
         "); it is placed again");
  }
}

void Operator::leave(const Plan& plan, CycleReport& report) {
  for (const SlurmJob* job : plan.leave) {
    const char* why = job->het ? "a heterogeneous job" : "not the same number of GPUs on a given number of nodes";
    if (job->mark.contains("left to Slurm")) continue;
    update(job->id, {"StartTime=now", mark_of(std::string("left to Slurm: ") + why)});
    say_("job " + job->id + " is left to Slurm: " + why);
    ++report.left;
  }
}

void Operator::pin(const SlurmJob& job, const Placed& placed) {
  update(job.id,
         {"ReqNodeList=" + fabric::compress_hostlist(sorted(placed.nodes)), "StartTime=now", placed_mark(placed, "")});
}

std::string Operator::placed_mark(const Placed& placed, const std::string& remark) {
  return mark_of(write_job_ranks(placements_.ranks(placed), remark, kMostRanks), kMostRanks);
}

void Operator::place(const Plan& plan, const Situation& situation, CycleReport& report) {
  for (const SlurmJob* job : plan.pin) {
    const std::string& id = situation.placements.at(job->key());
    pin(*job, {id, placements_.nodes(id), {}});
    ++report.placed;
  }
  std::map<std::string, std::vector<const SlurmJob*>> reasons;
  const auto overdue = [&](const SlurmJob* job) {
    return job->submitted_s > 0 && situation.now_s - job->submitted_s > options_.pass_s;
  };
  std::string before;  // the job that none passes
  const std::size_t most = std::min(plan.place.size(), options_.most_placed);
  std::size_t asked = 0;
  while (asked < most && before.empty()) {
    // What may not pass a job is asked for when that job has its answer.
    std::vector<Placements::Ask> asks;
    do {
      asks.push_back({plan.place[asked + asks.size()], {}});
    } while (asked + asks.size() < most && !overdue(asks.back().job));
    const std::vector<Placed> answers = placements_.place(asks, situation.unavailable);
    for (std::size_t i = 0; i < asks.size(); ++i) {
      const SlurmJob* job = asks[i].job;
      if (!answers[i].id.empty()) {
        pin(*job, answers[i]);
        ++report.placed;
        continue;
      }
      reasons["waits: " + answers[i].reason].push_back(job);
      if (overdue(job)) before = job->id;
    }
    asked += asks.size();
  }
  for (; asked < plan.place.size(); ++asked)
    reasons[before.empty() ? kTurn : "waits behind job " + before].push_back(plan.place[asked]);
  for (const auto& [reason, jobs] : reasons) report.waiting += jobs.size();
  keep_waiting(reasons, situation.now_s);
}

void Operator::keep_waiting(const std::map<std::string, std::vector<const SlurmJob*>>& reasons, std::int64_t now_s) {
  std::vector<std::string> later;
  std::size_t told = 0;
  for (const auto& [reason, jobs] : reasons) {
    std::string mark = mark_of(reason);
    while (mark.ends_with(' ')) mark.pop_back();
    const std::string_view shown = std::string_view(mark).substr(mark.find('=') + 1);
    for (const SlurmJob* job : jobs) {
      const bool tell = reason != kTurn && (job->mark != shown || !job->pinned.empty());
      if (tell && told < options_.most_placed) {
        ++told;
        update(job->id, {"ReqNodeList=", "StartTime=now+" + std::to_string(options_.grace_s), mark});
      } else if (job->eligible_s - now_s < options_.grace_s / 2) {
        later.push_back(job->id);
      }
    }
  }
  if (const auto done = slurm_.delay(later, options_.grace_s); !done) say_once(done.error().text());
}

// A job that Slurm does not change any more, as it has just begun or ended, is seen so in the next cycle.
void Operator::update(const std::string& job, const std::vector<std::string>& changes) {
  if (const auto done = slurm_.update(job, changes); !done) say_once("job " + job + ": " + done.error().text());
}

void Operator::say_once(const std::string& line) {
  if (said_.size() == kMostSaid) said_.clear();
  if (said_.insert(line).second) say_(line);
}

}  // namespace railweave::slurm
