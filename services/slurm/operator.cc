#include "services/slurm/operator.h"

#include <algorithm>
#include <iterator>

#include "fabric/base/text/time_text.h"
#include "fabric/formats/slurm/hostlist.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::slurm {
namespace {

constexpr const char* kTurn =
    "waits for its turn";  // seen in the log; to tell each job would take as long as to place it
const std::string kMustLeave = "must leave";
constexpr std::size_t kMostSaid = 10'000;
constexpr std::size_t kMostReason = 240;  // characters; squeue_format() reads 320

constexpr std::int64_t kBlocksEvery_s = 60;
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
  Placements::Active active = placements_.active();
  Situation situation{.placements = std::move(active.by_key), .now_s = now_s, .patience_s = options_.patience_s};
  read_blocks(now_s);
  situation.has_blocks = blocks_.exist();
  SlurmNodes nodes = cli::value_or_fail(slurm_.nodes());
  SlurmJobs read = cli::value_or_fail(slurm_.jobs());
  for (SlurmJob& job : read.jobs) {
    if (blocks_.exist() && job.pending() && job.marked()) job.set_pinned_by_others();
  }
  situation.jobs = &read.jobs;
  situation.unavailable = std::move(nodes.unavailable);
  all_nodes_ = std::move(nodes.all);
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
  std::ranges::move(active.doubles, std::back_inserter(plan.end));
  end(plan, report);
  adopt(plan, situation, report);
  evict(plan, situation, report);
  repin(plan, situation, report);
  for (const auto& [job, why] : plan.leave) {
    const auto held = situation.placements.find(job->key());
    leave(*job, held == situation.placements.end() ? nullptr : &held->second, why, report);
  }
  place(plan, situation, report);
  return report;
}

void Operator::end(const Plan& plan, CycleReport& report) {
  for (const Held& held : plan.end) {
    placements_.end(held, "its Slurm job has ended");
    ++report.ended;
  }
  for (const Held& held : plan.release) placements_.release(held.id, "its Slurm job ends");
}

void Operator::adopt(const Plan& plan, Situation& situation, CycleReport& report) {
  for (const SlurmJob* job : plan.began) placements_.running(situation.placements.at(job->key()).id);
  std::vector<const SlurmJob*> wanted = plan.adopt;
  for (const SlurmJob* job : plan.verify) {
    const Held& held = situation.placements.at(job->key());
    const std::vector<std::string> nodes = placements_.nodes(held.id);
    if (sorted(nodes) == sorted(job->running)) {
      update(job->target(), {placed_mark({held.id, nodes, {}}, "")});
      if (!job->configuring()) placements_.running(held.id);
    } else {
      placements_.end(held, "its Slurm job began elsewhere");
      ++report.ended;
      wanted.push_back(job);
    }
  }
  const auto is_in_the_way = [&](const SlurmJob& job) {
    std::ranges::copy(job.running, std::back_inserter(situation.unavailable));
  };
  for (std::size_t i = options_.most_placed; i < wanted.size(); ++i) is_in_the_way(*wanted[i]);
  if (wanted.size() > options_.most_placed) wanted.resize(options_.most_placed);
  std::vector<Running> running;
  std::vector<Placements::Ask> asks;
  for (const SlurmJob* job : wanted) {
    const auto detail = slurm_.detail(job->target());
    running.push_back(running_of(*job, detail ? *detail : JobDetail()));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) asks.push_back({wanted[i], &running[i]});
  const std::vector<Placed> answers = placements_.place(asks, {}, nullptr);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const SlurmJob* job = wanted[i];
    const Placed& placed = answers[i];
    if (placed.id.empty()) {
      is_in_the_way(*job);
      say_once("job " + job->id + " runs on GPUs that Railweave cannot hold for it: " + placed.reason);
      continue;
    }
    ++report.adopted;
    if (running[i].ranks.empty()) placements_.running(placed.id);  // placed by their nodes, not adopted
    update(job->target(), {placed_mark(placed, "where Slurm began it")});
  }
  std::ranges::sort(situation.unavailable);
}

// A job that has to leave is told once, and ends when its notice is over.
void Operator::evict(const Plan& plan, const Situation& situation, CycleReport& report) {
  for (std::size_t i = 0; i < std::min(plan.evict.size(), options_.most_placed); ++i) {
    const SlurmJob* job = plan.evict[i];
    const Held& held = situation.placements.at(job->key());
    const auto leave = placements_.leave(held.id);
    if (!leave) continue;
    if (!job->mark.contains(kMustLeave)) {
      const std::string when = leave->at_s > situation.now_s ? " at " + whole_second_text(leave->at_s * 1'000'000) : "";
      const std::string whom = leave->in_favour_of.empty() ? "" : " for " + leave->in_favour_of;
      update(job->target(), {placed_mark({held.id, job->running, {}}, kMustLeave + when + whom)});
      if (!options_.notice_signal.empty()) {
        if (const auto sent = slurm_.signal(job->target(), options_.notice_signal); !sent)
          say_once(sent.error().text());
      }
      say_("job " + job->id + " " + kMustLeave + when + whom);
    }
    if (situation.now_s < leave->at_s) continue;
    const auto detail = slurm_.detail(job->target());
    if (!detail) continue;
    const bool again = leave->to_queue && detail->requeues && !options_.cancel_evicted;
    const auto done = again ? slurm_.requeue(job->target()) : slurm_.cancel(job->target());
    if (!done) say_once(done.error().text());
    ++report.evicted;
  }
}

void Operator::repin(const Plan& plan, const Situation& situation, CycleReport& report) {
  for (const SlurmJob* job : plan.repin) {
    std::string words = "waits to be placed again";
    if (job->is_over_limit()) {
      const auto running = std::ranges::count_if(
          *situation.jobs, [&](const SlurmJob& other) { return other.array() == job->array() && !other.pending(); });
      words = array_limit_words(static_cast<std::size_t>(running));
    }
    // Unpinned first: a job that is not placed must not wait for nodes, and one that began just now keeps its placement.
    if (!update(job->target(),
                {pin_text(*job, {}), "StartTime=now+" + std::to_string(options_.grace_s), mark_of(words)}))
      continue;
    placements_.end(situation.placements.at(job->key()), "its Slurm job could not begin: " + job->reason);
    ++report.repinned;
    say_("job " + job->id + " could not begin on " + fabric::compress_hostlist(job->pinned) + " (" + job->reason +
         "); it is placed again");
  }
}

void Operator::read_blocks(std::int64_t now_s) {
  if (now_s < blocks_due_s_) return;
  Blocks read = cli::value_or_fail(slurm_.blocks());
  if (read.exist()) read.level = options_.block_level.empty() ? placements_.block_level() : options_.block_level;
  if (read.exist() && read.size != blocks_.size)
    say_("Slurm has blocks of " + std::to_string(read.size) + " nodes: Railweave places by " + read.level +
         ", and pins by leaving other nodes out");
  blocks_ = std::move(read);
  blocks_due_s_ = now_s + kBlocksEvery_s;
}

// Unpinned first, as in repin().
void Operator::leave(const SlurmJob& job, const Held* held, const std::string& why, CycleReport& report) {
  if (!update(job.target(), {pin_text(job, {}), "StartTime=now", mark_of("left to Slurm: " + why)})) return;
  if (held != nullptr) placements_.end(*held, "its Slurm job is left to Slurm: " + why);
  say_("job " + job.id + " is left to Slurm: " + why);
  ++report.left;
}

bool Operator::pin(const SlurmJob& job, const Placed& placed) {
  return placements_.accept(placed.id) &&
         update(job.target(), {pin_text(job, sorted(placed.nodes)), "StartTime=now", placed_mark(placed, "")});
}

std::string Operator::pin_text(const SlurmJob& job, const std::vector<std::string>& nodes) const {
  if (!job.leads_parts() && !blocks_.exist()) return "ReqNodeList=" + fabric::compress_hostlist(nodes);
  std::vector<std::string> others;
  if (!nodes.empty()) std::ranges::set_difference(all_nodes_, nodes, std::back_inserter(others));
  return "ExcNodeList=" + fabric::compress_hostlist(others);
}

std::string Operator::placed_mark(const Placed& placed, const std::string& remark) {
  return mark_of(write_job_ranks(placements_.ranks(placed), remark, kMostRanks), kMostRanks);
}

bool Operator::is_overdue(const SlurmJob& job, std::int64_t now_s) const {
  return job.submitted_s > 0 && now_s - job.submitted_s > options_.pass_s;
}

std::string Operator::why_left(std::span<const Placed> parts, bool all_placed) const {
  for (const Placed& part : parts) {
    if (part.gave_up) return part.reason;
    if (all_placed && !blocks_.allow(part.nodes))
      return "its blocks of " + std::to_string(blocks_.size) + " nodes do not allow what Railweave chose";
  }
  return {};
}

const SlurmJob* Operator::ask(std::span<const SlurmJob* const> jobs, const Situation& situation, Reasons& reasons,
                              CycleReport& report) {
  std::vector<Placements::Ask> asks;
  for (const SlurmJob* job : jobs) asks.push_back({job});
  const std::vector<Placed> answers = placements_.place(asks, situation.unavailable, &blocks_);
  const SlurmJob* before = nullptr;
  for (std::size_t begin = 0, end = 0; begin < jobs.size(); begin = end) {
    // Parts of a heterogeneous job begin together or not at all.
    do ++end;
    while (end < jobs.size() && jobs[end]->het != 0 && jobs[end]->het == jobs[begin]->het);
    std::string reason;
    for (std::size_t i = begin; i < end && reason.empty(); ++i) {
      if (answers[i].id.empty()) reason = "waits: " + answers[i].reason;
    }
    const std::string left = why_left(std::span(answers).subspan(begin, end - begin), reason.empty());
    if (!left.empty()) {
      for (std::size_t i = begin; i < end; ++i) {
        const Held held{answers[i].id, Held::Phase::offered};
        leave(*jobs[i], answers[i].id.empty() ? nullptr : &held, left, report);
      }
      continue;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const SlurmJob* job = jobs[i];
      if (reason.empty()) {
        if (pin(*job, answers[i])) ++report.placed;
        continue;
      }
      if (!answers[i].id.empty())
        placements_.end({answers[i].id, Held::Phase::offered}, "another part of its Slurm job does not fit");
      reasons[reason].push_back(job);
      if (is_overdue(*job, situation.now_s)) before = job;
    }
  }
  return before;
}

void Operator::place(const Plan& plan, const Situation& situation, CycleReport& report) {
  for (const SlurmJob* job : plan.pin) {
    const std::string& id = situation.placements.at(job->key()).id;
    if (pin(*job, {id, placements_.nodes(id), {}})) ++report.placed;
  }
  Reasons reasons;
  const std::span<const SlurmJob* const> all(plan.place);
  const SlurmJob* before = nullptr;  // the job that none passes
  const std::size_t most = std::min(all.size(), options_.most_placed);
  std::size_t asked = 0;
  while (asked < most && before == nullptr) {
    // What may not pass a job is asked for when that job has its answer.
    std::size_t end = asked + 1;
    while (end < all.size() && ((end < most && !is_overdue(*all[end - 1], situation.now_s)) ||
                                (all[end]->het != 0 && all[end]->het == all[end - 1]->het)))
      ++end;
    before = ask(all.subspan(asked, end - asked), situation, reasons, report);
    asked = end;
  }
  for (; asked < all.size(); ++asked)
    reasons[before == nullptr ? kTurn : "waits behind job " + before->id].push_back(all[asked]);
  if (!plan.later.empty()) std::ranges::copy(plan.later, std::back_inserter(reasons[kTurn]));
  for (const auto& [reason, jobs] : reasons) report.waiting += jobs.size();
  keep_waiting(reasons, situation.now_s);
}

void Operator::keep_waiting(const Reasons& reasons, std::int64_t now_s) {
  std::vector<std::string> later;
  std::size_t told = 0;
  for (const auto& [reason, jobs] : reasons) {
    std::string mark = mark_of(reason);
    while (mark.ends_with(' ')) mark.pop_back();
    const std::string_view shown = std::string_view(mark).substr(mark.find('=') + 1);
    for (const SlurmJob* job : jobs) {
      const bool tell = reason != kTurn && (job->mark != shown || job->is_pinned());
      if (tell && told < options_.most_placed) {
        ++told;
        update(job->target(), {pin_text(*job, {}), "StartTime=now+" + std::to_string(options_.grace_s), mark});
      } else if (job->eligible_s - now_s < options_.grace_s / 2) {
        later.push_back(job->target());
      }
    }
  }
  if (const auto done = slurm_.delay(later, options_.grace_s); !done) say_once(done.error().text());
}

// A job that Slurm does not change any more, as it has just begun or ended, is seen so in the next cycle.
bool Operator::update(const std::string& job, const std::vector<std::string>& changes) {
  const auto done = slurm_.update(job, changes);
  if (!done) say_once("job " + job + ": " + done.error().text());
  return done.has_value();
}

void Operator::say_once(const std::string& line) {
  if (said_.size() == kMostSaid) said_.clear();
  if (said_.insert(line).second) say_(line);
}

}  // namespace railweave::slurm
