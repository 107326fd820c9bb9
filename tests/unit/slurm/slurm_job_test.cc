#include "services/slurm/slurm_job.h"

#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/slurm/job_body.h"
#include "services/slurm/plan.h"
#include "services/slurm/process.h"

namespace railweave::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A line as squeue writes it: each value padded, or cut, to the width that the format names.
std::string squeue_line(const std::map<std::string, std::string>& values) {
  std::string line;
  std::istringstream columns(squeue_format());
  for (std::string column; std::getline(columns, column, ',');) {
    const std::size_t colon = column.find(':');
    const std::size_t width = std::stoul(column.substr(colon + 1));
    const auto value = values.find(column.substr(0, colon));
    std::string text = value == values.end() ? "" : value->second.substr(0, width);
    text.resize(width, ' ');
    line += text;
  }
  return line + "\n";
}

std::map<std::string, std::string> waiting(const std::string& id) {
  return {{"JobArrayID", id},          {"StateCompact", "PD"},
          {"RestartCnt", "0"},         {"HetJobID", "N/A"},
          {"NumNodes", "2"},           {"Account", "physics"},
          {"TimeLimit", "1-00:10:00"}, {"SubmitTime", "1000"},
          {"EligibleTime", "1120"},    {"tres-per-node", "gres:gpu:8"},
          {"Name", "train"},           {"admin_comment", "railweave: waits to be placed"},
          {"Comment", "(null)"}};
}

SlurmJob job_of(const std::map<std::string, std::string>& values) {
  const SlurmJobs read = read_squeue(squeue_line(values), 0);
  EXPECT_EQ(read.jobs.size(), 1U);
  return read.jobs.at(0);
}

TEST(Squeue, ReadsFieldsByWidth) {
  const SlurmJob job = job_of(waiting("17_3"));
  EXPECT_EQ(job.key(), "17_3.0");
  EXPECT_TRUE(job.pending() && job.marked() && !job.het);
  EXPECT_EQ(job.gpus, 16U);
  EXPECT_EQ(job.time_limit_s, 87'000);
  EXPECT_EQ(job.eligible_s, 1120);
  EXPECT_EQ(job.account, "physics");
  EXPECT_EQ(job.comment, "");
}

TEST(Squeue, AJobWithLineEndsInItsCommentIsNoOtherJob) {
  auto values = waiting("17");
  const std::string forged = squeue_line(waiting("1"));
  values["Name"] = "a\n" + forged;
  values["Comment"] = "b\n" + forged + forged;
  const SlurmJobs read = read_squeue(squeue_line(values) + squeue_line(waiting("18")), 0);
  EXPECT_GT(read.unreadable, 0U);
  ASSERT_EQ(read.jobs.size(), 1U);
  EXPECT_EQ(read.jobs[0].id, "18");
}

TEST(Squeue, CountsGpusHoweverTheyAreAskedFor) {
  const auto gpus = [](const std::string& field, const std::string& text) {
    auto values = waiting("1");
    values["tres-per-node"] = "N/A";
    values[field] = text;
    return job_of(values).gpus;
  };
  EXPECT_EQ(gpus("tres-per-node", "gres:gpu:h100:4"), 8U);
  EXPECT_EQ(gpus("tres-per-node", "gres:nic:2,gres:gpu"), 2U);
  EXPECT_EQ(gpus("tres-per-node", "gres:gpux:4"), 0U);
  EXPECT_EQ(gpus("tres-per-job", "gres:gpu:6"), 6U);
  EXPECT_EQ(gpus("tres-alloc", "cpu=2,node=2,gres/gpu=16,billing=2"), 16U);
  EXPECT_EQ(gpus("tres-per-node", "N/A"), 0U);
  auto plain = waiting("1");
  plain["tres-per-node"] = "N/A";
  EXPECT_EQ(read_squeue(squeue_line(plain), 8).jobs.at(0).gpus, 16U);
}

TEST(JobBody, SaysWhatTheCommentSays) {
  auto values = waiting("17");
  values["Comment"] = "run 5; railweave: tp=4,pp=2 guarantee=100 class=all-reduce level=nvlinkDomain";
  const auto body = job_body({"gpu", "other"}, job_of(values), {}, std::vector<std::string>{"n9"});
  ASSERT_TRUE(body) << body.error().text();
  EXPECT_EQ(*body, cli::Json::parse(
                       R"({"name":"slurm/gpu/17.0","tenant":"physics","parallelism":{"tensor":4,"pipeline":2,"data":2},
      "bandwidth":{"guaranteedGbpsPerPort":100,"qosClass":"all-reduce"},"topology":{"job":{"required":"nvlinkDomain"}},"gpusPerNode":8,
      "external":{"scheduler":"slurm","id":"17"},"expectedDuration":"PT87000S","excludeNodes":["n9"]})"));
  EXPECT_EQ(key_of_placement("gpu", "slurm/gpu/17.0"), "17.0");
  EXPECT_EQ(key_of_placement("cpu", "slurm/gpu/17.0"), "");
}

TEST(JobBody, RefusesWhatMakesNoSense) {
  for (const auto& [comment, why] : {std::pair{"railweave: tp=3", "does not divide"},
                                     {"railweave: tp=0", "no number"},
                                     {"railweave: gpu=1", "none of tp"}}) {
    auto values = waiting("17");
    values["Comment"] = comment;
    const auto body = job_body({"gpu", ""}, job_of(values), {}, {});
    ASSERT_FALSE(body) << comment;
    EXPECT_THAT(body.error().message, HasSubstr(why));
  }
}

struct Names {
  std::vector<std::string> place, pin, repin, adopt, verify, leave, end;
};
Names planned(const std::vector<SlurmJob>& jobs, std::map<std::string, std::string> placements,
              std::vector<std::string> unavailable = {}) {
  const Plan plan = make_plan({&jobs, std::move(placements), std::move(unavailable), 1000, 60});
  const auto ids = [](const std::vector<const SlurmJob*>& list) {
    std::vector<std::string> names;
    for (const SlurmJob* job : list) names.push_back(job->id);
    return names;
  };
  return {ids(plan.place),  ids(plan.pin),   ids(plan.repin), ids(plan.adopt),
          ids(plan.verify), ids(plan.leave), plan.end};
}

SlurmJob pinned(const std::string& id, const std::string& placement) {
  SlurmJob job = job_of(waiting(id));
  job.mark = "railweave: " + placement + " on n[1-2]";
  job.pinned = {"n1", "n2"};
  job.eligible_s = 990;
  return job;
}

TEST(Plan, PlacesMarkedJobsInOrderAndLeavesOthers) {
  SlurmJob own = job_of(waiting("1"));
  own.mark = "";
  SlurmJob het = job_of(waiting("2"));
  het.het = true;
  const Names plan = planned({own, het, job_of(waiting("4")), job_of(waiting("3"))}, {});
  EXPECT_THAT(plan.place, ElementsAre("4", "3"));
  EXPECT_THAT(plan.leave, ElementsAre("2"));
}

TEST(Plan, FinishesWhatWasBegunBeforeARestart) {
  const Names plan = planned({job_of(waiting("1")), pinned("2", "job-000002")},
                             {{"1.0", "job-000001"}, {"2.0", "job-000002"}, {"9.0", "job-000009"}});
  EXPECT_THAT(plan.pin, ElementsAre("1"));
  EXPECT_TRUE(plan.place.empty() && plan.repin.empty());
  EXPECT_THAT(plan.end, ElementsAre("job-000009"));
}

TEST(Plan, ARequeuedJobIsAnotherOne) {
  SlurmJob job = pinned("2", "job-000002");
  job.restarts = 1;
  const Names plan = planned({job}, {{"2.0", "job-000002"}});
  EXPECT_THAT(plan.end, ElementsAre("job-000002"));
  EXPECT_THAT(plan.place, ElementsAre("2"));
}

TEST(Plan, WhatEndsHoldsItsNodesUntilTheyAreFree) {
  SlurmJob job = pinned("2", "job-000002");
  job.state = "CG";
  job.restarts = 1;
  job.running = job.pinned;
  const Names plan = planned({job}, {{"2.0", "job-000002"}});
  EXPECT_TRUE(plan.end.empty() && plan.adopt.empty() && plan.place.empty());
}

TEST(Plan, WhatCannotBeginWhereItIsPinnedIsPlacedAgain) {
  EXPECT_TRUE(planned({pinned("2", "job-000002")}, {{"2.0", "job-000002"}}).repin.empty());
  EXPECT_THAT(planned({pinned("2", "job-000002")}, {{"2.0", "job-000002"}}, {"n2"}).repin, ElementsAre("2"));
  SlurmJob late = pinned("2", "job-000002");
  late.eligible_s = 900;
  EXPECT_THAT(planned({late}, {{"2.0", "job-000002"}}).repin, ElementsAre("2"));
  SlurmJob drained = pinned("2", "job-000002");
  drained.reason = "ReqNodeNotAvail, UnavailableNodes:n1";
  EXPECT_THAT(planned({drained}, {{"2.0", "job-000002"}}).repin, ElementsAre("2"));
}

TEST(Plan, RunningJobsAreAdoptedOnceAndCheckedWhereTheirMarkSaysNothing) {
  SlurmJob placed = pinned("1", "job-000001");
  SlurmJob other = job_of(waiting("2"));
  SlurmJob unsaid = job_of(waiting("3"));
  for (SlurmJob* job : {&placed, &other, &unsaid}) {
    job->state = "R";
    job->running = {"n1", "n2"};
  }
  SlurmJob ending = other;
  ending.state = "CG";
  ending.id = "4";
  const Names plan =
      planned({placed, other, unsaid, ending}, {{"1.0", "job-000001"}, {"3.0", "job-000003"}, {"4.0", "job-000004"}});
  EXPECT_THAT(plan.adopt, ElementsAre("2"));
  EXPECT_THAT(plan.verify, ElementsAre("3"));
  EXPECT_TRUE(plan.end.empty());
}

TEST(Process, HasADeadlineAndTellsWhatWentWrong) {
  using std::chrono::milliseconds;
  EXPECT_EQ(run_process({"printf", "%s", "a b;$c"}, milliseconds(5000), 100).value(), "a b;$c");
  EXPECT_EQ(run_process({"cat"}, milliseconds(5000), 100, "line\n").value(), "line\n");
  EXPECT_THAT(run_process({"sh", "-c", "echo no such job >&2; exit 1"}, milliseconds(5000), 100).error().message,
              HasSubstr("no such job"));
  EXPECT_EQ(run_process({"sleep", "60"}, milliseconds(100), 100).error().code, "slurm.noAnswer");
  EXPECT_EQ(run_process({"yes"}, milliseconds(5000), 100).error().code, "slurm.noAnswer");
  EXPECT_EQ(run_process({"/no/such/program"}, milliseconds(100), 100).error().code, "slurm.cannotStart");
}

}  // namespace
}  // namespace railweave::slurm
