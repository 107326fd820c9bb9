#include "services/slurm/slurm_job.h"

#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/slurm/job_body.h"
#include "services/slurm/plan.h"

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
  return {{"JobArrayID", id},
          {"StateCompact", "PD"},
          {"RestartCnt", "0"},
          {"HetJobID", "N/A"},
          {"PriorityLong", "4294901759"},
          {"NumNodes", "2"},
          {"Account", "physics"},
          {"TimeLimit", "1-00:10:00"},
          {"SubmitTime", "1000"},
          {"EligibleTime", "1120"},
          {"tres-per-node", "gres:gpu:8"},
          {"Name", "train"},
          {"admin_comment", "railweave: waits to be placed"},
          {"Comment", "(null)"}};
}

SlurmJob job_of(const std::map<std::string, std::string>& values) {
  const SlurmJobs read = read_squeue(squeue_line(values), 0);
  EXPECT_EQ(read.jobs.size(), 1U);
  return read.jobs.at(0);
}

TEST(Squeue, SaysWhichNumbersOfNodesSlurmMayGive) {
  auto values = waiting("17");
  values["NumNodes"] = "4";
  values["tres-alloc"] = "cpu=1,mem=2000M,node=2,billing=1,gres/gpu=16";
  const SlurmJob range = job_of(values);
  EXPECT_TRUE(range.has_range() && !range.has_any_shape());
  EXPECT_EQ(range.needs.least_nodes, 2U);
  EXPECT_EQ(range.needs.most_nodes, 4U);
  EXPECT_EQ(range.gpus, 32U) << "gres/gpu is that of two nodes";
  values["tres-alloc"] = "cpu=4,node=4,gres/gpu=32";
  EXPECT_FALSE(job_of(values).has_range());
  values["tres-per-node"] = "N/A";
  values["tres-per-job"] = "gres:gpu:h100:24";
  values["tres-alloc"] = "cpu=1,node=1";
  const SlurmJob any = job_of(values);
  EXPECT_TRUE(any.has_any_shape() && !any.has_range());
  EXPECT_EQ(any.gpus, 24U);
  EXPECT_EQ(any.needs.gpu_type, "h100");
}

TEST(Squeue, ReadsFieldsByWidth) {
  const SlurmJob job = job_of(waiting("17_3"));
  EXPECT_EQ(job.key(), "17_3.0");
  EXPECT_TRUE(job.pending() && job.marked() && job.het == 0);
  EXPECT_EQ(job.gpus, 16U);
  EXPECT_EQ(job.time_limit_s, 87'000);
  EXPECT_EQ(job.eligible_s, 1120);
  EXPECT_EQ(job.account, "physics");
  EXPECT_EQ(job.comment, "");
  EXPECT_FALSE(job.held);
  auto held = waiting("18");
  held["PriorityLong"] = "0";
  EXPECT_TRUE(job_of(held).held);
}

TEST(Squeue, AJobWithLineEndsInItsCommentIsNoOtherJob) {
  auto values = waiting("17");
  const std::string forged = squeue_line(waiting("1"));
  values["Name"] = "a\n" + forged;
  values["Comment"] = "b\n" + forged + forged;
  const SlurmJobs read = read_squeue(squeue_line(values) + squeue_line(waiting("18")), 0);
  EXPECT_EQ(read.unreadable, 0U) << "records are told apart by their length";
  ASSERT_EQ(read.jobs.size(), 2U);
  EXPECT_EQ(read.jobs[0].id, "17");
  EXPECT_EQ(read.jobs[1].id, "18");
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
  values["Comment"] =
      "run 5; railweave: tp=4,pp=2 guarantee=100 class=all-reduce level=nvlinkDomain tolerate=fans,tolerate=team=a";
  const std::vector<std::string> excluded{"n9"}, allowed{"n1", "n2"};
  const auto body = job_body({"gpu", "other"}, job_of(values), nullptr, {excluded, allowed});
  ASSERT_TRUE(body) << body.error().text();
  EXPECT_EQ(*body, cli::Json::parse(
                       R"({"name":"slurm/gpu/17.0","tenant":"physics","parallelism":{"tensor":4,"pipeline":2,"data":2},
      "bandwidth":{"guaranteedGbpsPerPort":100,"qosClass":"all-reduce"},"topology":{"job":{"required":"nvlinkDomain"}},
      "tolerations":[{"key":"fans"},{"key":"team","value":"a"}],"external":{"scheduler":"slurm","id":"17"},"expectedDuration":"PT87000S",
      "launcher":{"acceptWithin":"PT120S","notice":"PT60S","releaseWithin":"PT600S"},"gpusPerNode":8,"excludeNodes":["n9"]})"));
  EXPECT_EQ(key_of_placement("gpu", "slurm/gpu/17.0"), "17.0");
  EXPECT_EQ(key_of_placement("cpu", "slurm/gpu/17.0"), "");
}

TEST(JobBody, MayMoveWhereTheCommentSaysSo) {
  for (const auto& [comment, may] : {std::pair{"railweave: tp=4 checkpointable", true},
                                     {"railweave: checkpointable", true},
                                     {"checkpointable railweave: tp=4", false},
                                     {"railweave: checkpointable=no", false},
                                     {"", false}}) {
    auto values = waiting("17");
    values["Comment"] = comment;
    const SlurmJob job = job_of(values);
    EXPECT_EQ(is_checkpointable(job), may) << comment;
    const auto body = job_body({"gpu", ""}, job, nullptr, {});
    EXPECT_EQ(body && body->at("launcher").value("checkpointable", false), may) << comment;
  }
}

TEST(JobBody, AnExclusiveJobHasItsNodesForItself) {
  auto values = waiting("17");
  values["OverSubscribe"] = "NO";
  EXPECT_EQ(job_body({"gpu", "other"}, job_of(values), nullptr, {})->at("topology").at("exclusive"), "node");
  values["OverSubscribe"] = "OK";
  EXPECT_FALSE(job_body({"gpu", "other"}, job_of(values), nullptr, {})->contains("topology"));
}

TEST(JobBody, RefusesWhatMakesNoSense) {
  for (const auto& [comment, why] : {std::pair{"railweave: tp=3", "does not divide"},
                                     {"railweave: tp=0", "no number"},
                                     {"railweave: gpu=1", "none of tp"}}) {
    auto values = waiting("17");
    values["Comment"] = comment;
    const auto body = job_body({"gpu", ""}, job_of(values), nullptr, {});
    ASSERT_FALSE(body) << comment;
    EXPECT_THAT(body.error().message, HasSubstr(why));
  }
}

struct Names {
  std::vector<std::string> place, pin, repin, adopt, verify, began, evict, later, leave, end, release;
};
// held: "job-000001", or "job-000001 accepted".
Names planned(const std::vector<SlurmJob>& jobs, const std::map<std::string, std::string>& held,
              std::vector<std::string> unavailable = {}, bool has_blocks = false) {
  std::map<std::string, Held> placements;
  for (const auto& [key, text] : held) {
    std::istringstream words(text);
    std::string id;
    std::string phase;
    words >> id >> phase;
    placements[key] = {id, phase == "offered"     ? Held::Phase::offered
                           : phase == "accepted"  ? Held::Phase::accepted
                           : phase == "releasing" ? Held::Phase::releasing
                                                  : Held::Phase::running};
  }
  const Plan plan = make_plan({&jobs, std::move(placements), std::move(unavailable), 1000, 60, has_blocks});
  const auto ids = [](const std::vector<const SlurmJob*>& list) {
    std::vector<std::string> names;
    for (const SlurmJob* job : list) names.push_back(job->id);
    return names;
  };
  std::vector<std::string> left;
  for (const Left& one : plan.leave) left.push_back(one.job->id);
  const auto of_held = [](const std::vector<Held>& list) {
    std::vector<std::string> names;
    for (const Held& one : list) names.push_back(one.id);
    return names;
  };
  return {.place = ids(plan.place),
          .pin = ids(plan.pin),
          .repin = ids(plan.repin),
          .adopt = ids(plan.adopt),
          .verify = ids(plan.verify),
          .began = ids(plan.began),
          .evict = ids(plan.evict),
          .later = ids(plan.later),
          .leave = std::move(left),
          .end = of_held(plan.end),
          .release = of_held(plan.release)};
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
  SlurmJob uneven = job_of(waiting("2"));
  uneven.gpus = 3;
  const Names plan = planned({own, uneven, job_of(waiting("4")), job_of(waiting("3"))}, {});
  EXPECT_THAT(plan.place, ElementsAre("4", "3"));
  EXPECT_THAT(plan.leave, ElementsAre("2"));
}

TEST(Plan, WhatSlurmsBlocksRefuseIsLeftToSlurmOnce) {
  SlurmJob job = pinned("2", "job-000002");
  job.set_pinned_by_others();
  job.reason = "BadConstraints";
  job.held = true;  // as Slurm says of such a job
  EXPECT_THAT(planned({job}, {{"2.0", "job-000002 accepted"}}, {}, true).leave, ElementsAre("2"));
  EXPECT_THAT(planned({job}, {{"2.0", "job-000002 accepted"}}, {}, false).leave, ElementsAre("2"));
  job.mark = "railweave: left to Slurm: its blocks";
  job.held = false;
  const Names plan = planned({job}, {{"2.0", "job-000002 accepted"}}, {}, true);
  EXPECT_TRUE(plan.leave.empty() && plan.place.empty() && plan.pin.empty() && plan.repin.empty());
  EXPECT_THAT(plan.end, ElementsAre("job-000002")) << "its placement was not ended before railweave-slurm was";
  EXPECT_TRUE(planned({job}, {}, {}, true).place.empty());
}

TEST(Plan, WhatSlurmHoldsBackOrRefusesIsNotPinnedAgain) {
  for (const char* reason : {"QOSMaxJobsPerUserLimit", "AssocGrpGRES", "Licenses", "PartitionTimeLimit",
                             "ReqNodeNotAvail, Reserved for maintenance"}) {
    SlurmJob job = pinned("2", "job-000002");
    job.reason = reason;
    EXPECT_THAT(planned({job}, {{"2.0", "job-000002 accepted"}}).leave, ElementsAre("2")) << reason;
  }
  SlurmJob job = pinned("2", "job-000002");
  job.reason = "ReqNodeNotAvail, UnavailableNodes:n2";
  EXPECT_THAT(planned({job}, {{"2.0", "job-000002 accepted"}}, {"n2"}).repin, ElementsAre("2"))
      << "another node may do";
}

TEST(Plan, APinByLeavingOthersOutIsSaidByTheMark) {
  SlurmJob job = pinned("2", "job-000002");
  job.pinned.clear();  // squeue does not tell
  EXPECT_THAT(planned({job}, {{"2.0", "job-000002 accepted"}}).pin, ElementsAre("2"));
  job.set_pinned_by_others();
  EXPECT_THAT(job.pinned, ElementsAre("n1", "n2"));
  EXPECT_TRUE(planned({job}, {{"2.0", "job-000002 accepted"}}).pin.empty());
  EXPECT_THAT(planned({job}, {{"2.0", "job-000002 accepted"}}, {"n2"}).repin, ElementsAre("2"));
}

TEST(Plan, PartsOfAHeterogeneousJobAreAskedForTogether) {
  SlurmJob first = job_of(waiting("5+0"));
  SlurmJob second = job_of(waiting("5+1"));
  first.het = second.het = 5;
  EXPECT_THAT(planned({job_of(waiting("3")), first, job_of(waiting("4")), second}, {}).place,
              ElementsAre("3", "5+0", "5+1", "4"));
}

TEST(Plan, TasksOfAnArrayWithALimitTakeTurns) {
  SlurmJob runs = pinned("7_1", "job-000001");
  runs.state = "R";
  runs.running = runs.pinned;
  SlurmJob over = pinned("7_2", "job-000002");
  over.reason = "JobArrayTaskLimit";
  const std::map<std::string, std::string> held{{"7_1.0", "job-000001"}, {"7_2.0", "job-000002 accepted"}};
  EXPECT_THAT(planned({runs, over}, held).repin, ElementsAre("7_2"));
  SlurmJob told = job_of(waiting("7_2"));
  told.mark = "railweave: " + array_limit_words(1);
  const Names plan = planned({runs, told, job_of(waiting("7_3")), job_of(waiting("8_1"))}, {{"7_1.0", "job-000001"}});
  EXPECT_THAT(plan.later, ElementsAre("7_2", "7_3"));
  EXPECT_THAT(plan.place, ElementsAre("8_1"));
  EXPECT_THAT(planned({told, job_of(waiting("7_3"))}, {}).place, ElementsAre("7_2")) << "one at a time";
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
  EXPECT_THAT(plan.release, ElementsAre("job-000002")) << "Railweave knows that it ends";
  EXPECT_TRUE(planned({job}, {{"2.0", "job-000002 releasing"}}).release.empty()) << "and is told once";
}

TEST(Plan, RailweaveKnowsWhatRunsAndWhatHasToLeave) {
  SlurmJob job = pinned("2", "job-000002");
  job.state = "R";
  job.running = {"n2", "n1"};
  EXPECT_THAT(planned({job}, {{"2.0", "job-000002 accepted"}}).began, ElementsAre("2"));
  EXPECT_TRUE(planned({job}, {{"2.0", "job-000002"}}).began.empty());
  EXPECT_THAT(planned({job}, {{"2.0", "job-000002 releasing"}}).evict, ElementsAre("2"));
  job.state = "CF";
  EXPECT_TRUE(planned({job}, {{"2.0", "job-000002 accepted"}}).began.empty()) << "its nodes are not ready yet";
  job.state = "R";
  job.running = {"n1", "n3"};
  const Names elsewhere = planned({job}, {{"2.0", "job-000002 accepted"}});
  EXPECT_TRUE(elsewhere.began.empty());
  EXPECT_THAT(elsewhere.verify, ElementsAre("2"));
}

TEST(Plan, APinIsAcceptedFirst) {
  EXPECT_THAT(planned({pinned("2", "job-000002")}, {{"2.0", "job-000002 offered"}}).pin, ElementsAre("2"));
  EXPECT_TRUE(planned({pinned("2", "job-000002")}, {{"2.0", "job-000002 accepted"}}).pin.empty());
  EXPECT_THAT(planned({pinned("2", "job-000002")}, {{"2.0", "job-000002 releasing"}}).repin, ElementsAre("2"));
}

TEST(Plan, NoGpusAreHeldForWhatWaitsForOtherThings) {
  for (const char* reason : {"held", "Dependency", "DependencyNeverSatisfied", "JobArrayTaskLimit"}) {
    SlurmJob job = job_of(waiting("2"));
    job.reason = reason;
    job.held = job.reason == "held";
    EXPECT_THAT(planned({job}, {}).later, ElementsAre("2")) << reason;
    EXPECT_TRUE(planned({job}, {}).place.empty()) << reason;
    SlurmJob was_pinned = pinned("2", "job-000002");
    was_pinned.reason = reason;
    was_pinned.held = job.held;
    EXPECT_THAT(planned({was_pinned}, {{"2.0", "job-000002 accepted"}}).repin, ElementsAre("2")) << reason;
  }
}

// As `scontrol -d show job` writes it.
constexpr const char* kDetail =
    "JobId=7 JobName=a\n"
    "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
    "     Nodes=n[1-2] CPU_IDs=0-3 Mem=0 GRES=gpu:h100:2(IDX:0,5),nic:1(IDX:3)\n"
    "     Nodes=n3 CPU_IDs=0 Mem=0 GRES=gpu:h100:1(IDX:7)\n"
    "   MinCPUsNode=1\n";

SlurmJob detailed() {
  SlurmJob job;
  job.id = "7";
  job.state = "R";
  job.nodes = 3;
  job.gpus = 5;
  job.running = {"n1", "n2", "n3"};
  return job;
}

TEST(JobDetail, SaysWhichGpusARunningJobHas) {
  const JobDetail detail = read_job_detail(kDetail);
  EXPECT_TRUE(detail.requeues);
  const Running running = running_of(detailed(), detail);
  EXPECT_THAT(running.ranks, ElementsAre(RankRun{"n1", {0, 5}}, RankRun{"n2", {0, 5}}, RankRun{"n3", {7}}));
  const auto body = job_body({"gpu", "t"}, detailed(), &running, {});
  ASSERT_TRUE(body) << body.error().text();
  EXPECT_EQ(body->at("adopt"), cli::Json::parse(R"({"ranks":[{"node":"n1","gpus":[0,5]},{"node":"n2","gpus":[0,5]},
      {"node":"n3","gpus":[7]}]})"));
  EXPECT_EQ(body->at("parallelism"), cli::Json::parse(R"({"data":5})"));
}

TEST(JobDetail, KeepsTheOrderOfRanksThatItsMarkSays) {
  const std::string mark =
      "   AdminComment=railweave: job-000001 on n[3,1-2]; order=1x1,0x1,2x2,1x1 @0 gpus=7 @1 gpus=5,0 @2 gpus=0,5\n";
  const Running running = running_of(detailed(), read_job_detail(kDetail + mark));
  EXPECT_THAT(running.ranks,
              ElementsAre(RankRun{"n1", {5}}, RankRun{"n3", {7}}, RankRun{"n2", {0, 5}}, RankRun{"n1", {0}}));
  const std::string other =
      "   AdminComment=railweave: job-000001 on n[3,1-2]; order=1x1,0x1,2x2,1x1 @0 gpus=6 @1 gpus=5,0 @2 gpus=0,5\n";
  EXPECT_EQ(running_of(detailed(), read_job_detail(kDetail + other)).ranks.front(), (RankRun{"n1", {0, 5}}))
      << "other GPUs";
}

TEST(JobDetail, WhatDoesNotFitTheJobSaysNothing) {
  EXPECT_TRUE(running_of(detailed(), read_job_detail("     Nodes=n[1-2] GRES=gpu:2(IDX:0-1)\n")).ranks.empty());
  EXPECT_TRUE(running_of(detailed(), read_job_detail("     Nodes=n1 GRES=gpu:1(IDX:0)\n" + std::string(kDetail)))
                  .ranks.empty());
  EXPECT_TRUE(running_of(detailed(), read_job_detail("     Nodes=n[1-3] GRES=gpu:5(CNT:5)\n")).ranks.empty());
  SlurmJob plain = detailed();
  plain.gpus = 6;
  const Running running = running_of(plain, {});
  EXPECT_TRUE(running.ranks.empty());
  EXPECT_EQ(job_body({"gpu", "t"}, plain, &running, {})->at("nodes"), cli::Json::parse(R"(["n1","n2","n3"])"));
}

TEST(JobDetail, WhatRunsIsHeldWhateverItsCommentSays) {
  SlurmJob job = detailed();
  job.comment = "railweave: tp=3 class=gold nonsense";
  const Running running = running_of(job, read_job_detail(kDetail));
  const auto body = job_body({"gpu", "t"}, job, &running, {});
  ASSERT_TRUE(body);
  EXPECT_EQ(body->at("parallelism"), cli::Json::parse(R"({"data":5})"));
  EXPECT_FALSE(body->contains("bandwidth"));
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
  drained.needs.partition = "debug,all";
  EXPECT_TRUE(planned({drained}, {{"2.0", "job-000002"}}).repin.empty()) << "said of debug, before all is tried";
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

}  // namespace
}  // namespace railweave::slurm
