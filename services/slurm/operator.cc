#include "services/slurm/operator.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "fabric/formats/slurm/hostlist.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/slurm/ranks/admin_comment.h"

namespace railweave::slurm {
namespace {

constexpr const char* kTurn =
    "waits for its turn";  // seen in the log; to tell each job would take as long as to place it
const std::string kMustLeave = "must leave";
constexpr std::size_t kMaxSaid = 10'000;
constexpr std::size_t kMaxReasonCharacters = 240;  // characters; squeue_format() reads 320

constexpr std::int64_t kBlocksEvery_s = 60;
constexpr std::int64_t kRulesEvery_s = 10;          // partitions, reservations, names of nodes
constexpr std::size_t kMaxRankCharacters = 60'000;  // characters; what a job's tasks are told

std::string mark_of(const std::string& words, std::size_t most = kMaxReasonCharacters) {
  std::string mark(kMarkWord);
  for (const char c : words.substr(0, most)) {
    if (c == '"' || c == '\'') continue;
    mark += c < ' ' || c == '\\' || c == '|' || c == 0x7F ? ' ' : c;
  }
  while (mark.ends_with(' ')) mark.pop_back();
  return mark;
}

// Why it was left to Slurm stays to be seen.
std::string began_remark(const SlurmJob& job) {
  std::string remark = job.is_left() ? job.mark.substr(kMarkWord.size()) : "where Slurm began it";
  std::ranges::replace(remark, ';', ',');
  return remark;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

}  // namespace

CycleReport Operator::cycle(std::int64_t now_s) {
  // Railweave first: a job that ends in between is seen to have ended in the next cycle, and none is ended too soon.
  Placements::Active active = placements_.active();
  Situation situation{.now_s = now_s, .patience_s = options_.patience_s};
  read_blocks(now_s);
  situation.has_blocks = blocks_.exist();
  read_rules(now_s);
  SlurmJobs read = cli::value_or_fail(slurm_.jobs());
  restore_marks(read.jobs);
  for (SlurmJob& job : read.jobs) {
    if (pins_by_others(job) && job.pending() && job.marked()) job.set_pinned_by_others();
  }
  follow_moves(read.jobs, active);
  situation.placements = std::move(active.by_key);
  read_steps(read.jobs);
  if (!settings_.tracks_gpus) count_gpus(read.jobs);
  situation.jobs = &read.jobs;
  CycleReport report{.jobs = read.jobs.size()};
  read_nodes(situation, report);
  count_nodes(read.jobs, situation);
  if (read.unreadable > 0) {
    // Whose records they are is not known, so no placement is taken for one without a job.
    say_once(fmt::format("{} lines of squeue cannot be read; ends of jobs wait until they are gone", read.unreadable));
  }
  Plan plan = make_plan(situation);
  if (read.unreadable > 0) plan.end.clear();
  leave_to_slurm(plan);
  hold_back(plan);
  std::ranges::move(active.doubles, std::back_inserter(plan.end));
  end(plan, report);
  adopt(plan, situation, report);
  evict(plan, situation, report);
  answer_moves(situation);
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
      update(*job, {}, placed_mark(*job, {held.id, nodes, {}}, ""));
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
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    asks.push_back({.job = wanted[i], .step = step_of(*wanted[i]), .running = &running[i]});
  }
  advise(situation, asks);
  const std::vector<Placed> answers = placements_.place(asks, nullptr);
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
    update(*job, {}, placed_mark(*job, placed, asks[i].advice.text.empty() ? began_remark(*job) : asks[i].advice.text));
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
      update(*job, {}, placed_mark(*job, {held.id, job->running, {}}, kMustLeave + when + whom));
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
    if (!update(*job, {pin_text(*job, {}), fmt::format("StartTime=now+{}", options_.grace_s)}, mark_of(words)))
      continue;
    if (refused_.size() == kMaxSaid) refused_.clear();
    // What waits for itself would begin nowhere, and without a reason Slurm has not looked at it yet, as when it was away.
    const bool is_refused = !job->waits_for_itself() && job->reason != "None" && job->reason != "BeginTime";
    if (is_refused) refused_[job->key()] = sorted(job->pinned);
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
    say_(fmt::format("Slurm has blocks of {} nodes: Railweave places by {}, and pins by leaving other nodes out",
                     read.size, read.level));
  blocks_ = std::move(read);
  blocks_due_s_ = now_s + kBlocksEvery_s;
}

// Unpinned first, as in repin().
void Operator::leave(const SlurmJob& job, const Held* held, const std::string& why, CycleReport& report) {
  if (!update(job, {pin_text(job, {}), "StartTime=now"}, mark_of("left to Slurm: " + why))) return;
  if (held != nullptr) placements_.end(*held, "its Slurm job is left to Slurm: " + why);
  say_("job " + job.id + " is left to Slurm: " + why);
  ++report.left;
}

bool Operator::pin(const SlurmJob& job, const Placed& placed) {
  // In the second of a requeue slurmd takes the new start for the one that was revoked, and ends the job.
  const char* start = job.restarts > 0 ? "StartTime=now+2" : "StartTime=now";
  return placements_.accept(placed.id) &&
         update(job, {pin_text(job, sorted(placed.nodes)), start}, placed_mark(job, placed, ""));
}

// A job with a range of nodes would be given others beside those that it must have.
bool Operator::pins_by_others(const SlurmJob& job) const {
  return job.leads_parts() || blocks_.exist() || job.has_range();
}

std::string Operator::pin_text(const SlurmJob& job, const std::vector<std::string>& nodes) const {
  if (!pins_by_others(job)) return "ReqNodeList=" + fabric::compress_hostlist(nodes);
  std::vector<std::string> others;
  if (!nodes.empty()) std::ranges::set_difference(all_nodes_, nodes, std::back_inserter(others));
  return "ExcNodeList=" + fabric::compress_hostlist(others);
}

std::string Operator::placed_mark(const SlurmJob& job, const Placed& placed, const std::string& remark) {
  // Tasks that are told nothing have the order that Slurm gives them.
  if (step_of(job) == Step::observe) {
    return mark_of(write_job_ranks({.placement = placed.id, .nodes = placed.nodes}, remark, kMaxRankCharacters),
                   kMaxRankCharacters);
  }
  return mark_of(write_job_ranks(placements_.ranks(placed), remark, kMaxRankCharacters), kMaxRankCharacters);
}

bool Operator::is_overdue(const SlurmJob& job, std::int64_t now_s) const {
  return job.submitted_s > 0 && now_s - job.submitted_s > options_.pass_s;
}

std::string Operator::why_left(std::span<const Placed> parts, bool all_placed) const {
  for (const Placed& part : parts) {
    if (part.gave_up) return part.reason;
    if (all_placed && !blocks_.allow(part.nodes))
      return fmt::format("its blocks of {} nodes do not allow what Railweave chose", blocks_.size);
  }
  return {};
}

void Operator::read_rules(std::int64_t now_s) {
  if (now_s < rules_due_s_) return;
  windows_ = cli::value_or_fail(slurm_.reservations());
  partitions_ = cli::value_or_fail(slurm_.partitions());
  fabric_nodes_ = placements_.fabric_nodes();
  rules_due_s_ = now_s + kRulesEvery_s;
}

void Operator::count_gpus(std::vector<SlurmJob>& jobs) {
  std::map<std::string, std::uint64_t> known;
  std::size_t asked = 0;
  for (SlurmJob& job : jobs) {
    if (job.pending() || job.gpus > 0 || job.running.empty()) continue;
    auto at = gpus_.find(job.key());
    if (at == gpus_.end() && asked < options_.most_placed) {
      ++asked;
      const auto detail = slurm_.detail(job.target());
      std::uint64_t gpus = 0;
      for (const RankRun& run : detail ? detail->gpus : std::vector<RankRun>()) gpus += run.gpus.size();
      at = gpus_.emplace(job.key(), gpus).first;
    }
    if (at == gpus_.end()) continue;
    job.gpus = at->second;
    known.insert(*at);
  }
  gpus_ = std::move(known);
}

void Operator::count_nodes(std::vector<SlurmJob>& jobs, const Situation& situation) const {
  std::uint64_t most = 0;
  for (const SlurmNode& node : eligibility_.nodes()) most = std::max(most, node.gpus);
  if (most == 0) return;
  for (SlurmJob& job : jobs) {
    if (!job.pending() || !job.marked() || job.is_left() || job.nodes == 0) continue;
    if (job.has_range() && !job.is_placed()) {
      const auto free = eligibility_.nodes_free(job, choice_of(job, situation).allowed);
      job.nodes = std::clamp(static_cast<unsigned>(free), job.needs.least_nodes, job.needs.most_nodes);
      job.gpus = job.needs.gpus_per_node * job.nodes;
    } else if (job.gpus > job.nodes * most) {
      job.nodes = static_cast<unsigned>((job.gpus + most - 1) / most);
    }
  }
}

void Operator::read_nodes(Situation& situation, CycleReport& report) {
  std::map<std::string_view, std::uint64_t> known;  // GPUs of jobs that are known, by node
  std::set<std::string_view> filled;                // by jobs without GPUs, which are none that Railweave knows of
  for (const SlurmJob& job : *situation.jobs) {
    if (job.pending() || job.running.empty()) continue;
    for (const std::string& node : job.running) {
      if (job.gpus == 0) filled.insert(node);
      known[node] += (job.gpus + job.running.size() - 1) / job.running.size();
    }
  }
  std::vector<SlurmNode> nodes = cli::value_or_fail(slurm_.nodes());
  all_nodes_.clear();
  for (const SlurmNode& node : nodes) {
    all_nodes_.push_back(node.name);
    const bool was_out = node.unavailable ? !out_of_use_.insert(node.name).second : out_of_use_.erase(node.name) > 0;
    report.nodes_are_back |= was_out && !node.unavailable;
    const auto held = known.find(node.name);
    const bool is_used = node.gpus_used > (held == known.end() ? 0 : held->second);
    if (node.unavailable || (node.full && filled.contains(node.name)) || is_used) {
      situation.unavailable.push_back(node.name);
    }
  }
  eligibility_ = Eligibility(std::move(nodes), windows_, partitions_, fabric_nodes_, settings_.counts_memory);
}

void Operator::leave_to_slurm(Plan& plan) const {
  std::erase_if(plan.place, [&](const SlurmJob* job) {
    auto why = eligibility_.left_to_slurm(*job);
    if (!why) return false;
    plan.leave.push_back({job, std::move(*why)});
    return true;
  });
}

bool Operator::OwnChoice::is_for(const SlurmJob& job) const {
  return alike->needs == job.needs && alike->nodes == job.nodes && alike->time_limit_s == job.time_limit_s;
}

Operator::OwnChoice Operator::choice_of(const SlurmJob& job, const Situation& situation) const {
  OwnChoice choice{.alike = &job, .excluded = {}, .allowed = {}};
  std::ranges::set_union(eligibility_.excluded(job, situation.now_s), situation.unavailable,
                         std::back_inserter(choice.excluded));
  std::ranges::set_difference(all_nodes_, choice.excluded, std::back_inserter(choice.allowed));
  return choice;
}

const SlurmJob* Operator::ask(std::span<const SlurmJob* const> jobs, const Situation& situation, Reasons& reasons,
                              CycleReport& report) {
  std::vector<Placements::Ask> asks;
  std::deque<OwnChoice> choices;  // one for jobs alike
  for (const SlurmJob* job : jobs) {
    const auto known = std::ranges::find_if(choices, [&](const OwnChoice& one) { return one.is_for(*job); });
    const OwnChoice& choice = known == choices.end() ? choices.emplace_back(choice_of(*job, situation)) : *known;
    asks.push_back({.job = job, .step = step_of(*job), .choice = {choice.excluded, choice.allowed}});
  }
  std::vector<Placed> answers = placements_.place(asks, &blocks_);
  for (std::size_t i = 0; i < answers.size(); ++i) judge(*jobs[i], situation, answers[i]);
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
    const std::string mark = mark_of(reason);
    for (const SlurmJob* job : jobs) {
      const bool tell = reason != kTurn && (job->mark != mark || job->is_pinned());
      if (tell && told < options_.most_placed) {
        ++told;
        update(*job, {pin_text(*job, {}), fmt::format("StartTime=now+{}", options_.grace_s)}, mark);
      } else if (job->eligible_s - now_s < options_.grace_s / 2) {
        later.push_back(job->target());
      }
    }
  }
  if (const auto done = slurm_.delay(later, options_.grace_s); !done) say_once(done.error().text());
}

// A job that Slurm does not change any more, as it has just begun or ended, is seen so in the next cycle.
bool Operator::update(const SlurmJob& job, std::vector<std::string> changes, std::string_view mark) {
  changes.push_back(mark_text(job, mark));
  const auto done = slurm_.update(job.target(), changes);
  if (!done) say_once("job " + job.target() + ": " + done.error().text());
  return done.has_value();
}

std::string Operator::mark_text(const SlurmJob& job, std::string_view mark) {
  const std::string field = "AdminComment=";
  if (!job.is_cut) return field + join_admin_comment(mark, job.others);
  const auto detail = slurm_.detail(job.target());
  return field + join_admin_comment(mark, detail ? split_admin_comment(detail->mark).others : job.others);
}

void Operator::restore_marks(std::vector<SlurmJob>& jobs) {
  std::map<std::string, bool> marked;
  for (SlurmJob& job : jobs) {
    if (!job.pending()) continue;
    if (const auto before = marked_.find(job.key()); !job.marked() && before != marked_.end())
      job.restore_mark(before->second);
    if (job.marked()) marked[job.key()] = job.is_left();
  }
  marked_ = std::move(marked);
}

void Operator::say_away() {
  const std::string mark = mark_of("Railweave is away; begins by itself at its StartTime");
  auto read = slurm_.jobs();
  if (!read) return;
  std::size_t told = 0;
  for (const SlurmJob& job : read->jobs) {
    const bool waits = job.pending() && job.marked() && !job.is_left() && !job.is_pinned() && !job.is_placed();
    if (!waits || job.mark == mark) continue;
    if (++told > options_.most_placed) return;
    update(job, {}, mark);
  }
}

void Operator::say_once(const std::string& line) {
  if (said_.size() == kMaxSaid) said_.clear();
  if (said_.insert(line).second) say_(line);
}

}  // namespace railweave::slurm
