#include "services/slurm/eligibility.h"

#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railweave::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string padded(const std::string& format, const std::map<std::string, std::string>& values) {
  std::string line;
  std::istringstream columns(format);
  for (std::string column; std::getline(columns, column, ',');) {
    const std::size_t colon = column.find(':');
    const auto value = values.find(column.substr(0, colon));
    std::string text = value == values.end() ? "" : value->second;
    text.resize(std::stoul(column.substr(colon + 1)), ' ');
    line += text;
  }
  return line + "\n";
}

std::string node(const std::string& name, const std::string& partition, std::map<std::string, std::string> more = {}) {
  std::map<std::string, std::string> values{
      {"NodeList", name},         {"PartitionName", partition}, {"StateLong", "idle"},
      {"features_act", "(null)"}, {"CPUsState", "0/64/0/64"},   {"Memory", "1000"},
      {"AllocMem", "0"},          {"Gres", "gpu:8(S:0-1)"},     {"GresUsed", "gpu:0(IDX:N/A)"}};
  for (const auto& [field, value] : more) values[field] = value;
  return padded(sinfo_format(), values);
}

Eligibility eligibility(const std::string& sinfo, const std::string& reservations = "",
                        const std::string& partitions = "", const std::map<std::string, std::uint64_t>& fabric = {}) {
  return {read_sinfo(sinfo), read_reservations(reservations), read_partitions(partitions), fabric, true};
}

SlurmJob two_nodes(const std::string& partition) {
  SlurmJob job;
  job.nodes = 2;
  job.gpus = 16;
  job.needs.cpus = 2;
  job.needs.partition = partition;
  return job;
}

TEST(Eligibility, NodesOfOtherPartitionsAndThoseSlurmDoesNotHaveAreExcluded) {
  const auto known = eligibility(node("a", "all") + node("a", "debug") + node("b", "all") + node("c", "debug"), "", "",
                                 {{"a", 8}, {"b", 8}, {"c", 8}, {"switch-room-7", 8}});
  EXPECT_THAT(known.excluded(two_nodes("debug"), 0), ElementsAre("b", "switch-room-7"));
  EXPECT_THAT(known.excluded(two_nodes("all"), 0), ElementsAre("c", "switch-room-7"));
  EXPECT_THAT(known.excluded(two_nodes("all,debug"), 0), ElementsAre("c", "switch-room-7"));
}

TEST(Eligibility, FeaturesAreThoseOfEachNode) {
  const auto known = eligibility(node("a", "all", {{"features_act", "ndr,h100"}}) +
                                 node("b", "all", {{"features_act", "ndr"}}) + node("c", "all"));
  const auto excluded = [&](const std::string& features) {
    SlurmJob job = two_nodes("all");
    job.needs.features = features;
    EXPECT_FALSE(known.left_to_slurm(job)) << features;
    return known.excluded(job, 0);
  };
  EXPECT_THAT(excluded("ndr"), ElementsAre("c"));
  EXPECT_THAT(excluded("ndr&h100"), ElementsAre("b", "c"));
  EXPECT_THAT(excluded("ndr,h100"), ElementsAre("b", "c"));
  EXPECT_THAT(excluded("h100|hdr"), ElementsAre("b", "c"));
  for (const auto* expression : {"[rack1|rack2]", "ndr*2", "(a|b)&c", "a&b|c"}) {
    SlurmJob job = two_nodes("all");
    job.needs.features = expression;
    EXPECT_TRUE(known.left_to_slurm(job)) << expression;
  }
}

TEST(Eligibility, MemoryAndProcessorsThatAreFree) {
  const auto known =
      eligibility(node("a", "all") + node("b", "all", {{"CPUsState", "40/24/0/64"}, {"AllocMem", "900"}}) +
                  node("c", "all", {{"CPUsState", "64/0/0/64"}, {"AllocMem", "1000"}, {"GresUsed", "gpu:8(IDX:0-7)"}}) +
                  node("small", "all", {{"CPUsState", "0/16/0/16"}, {"Memory", "100"}}));
  SlurmJob job = two_nodes("all");
  job.needs.cpus = 64;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("b", "small"));
  job.needs.cpus = 2;
  EXPECT_THAT(known.excluded(two_nodes("all"), 0), ElementsAre("b")) << "all of a node's memory where it does not say";
  job.needs.memory_mb = 200;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("b", "small"))
      << "all of c's GPUs are in use: Railweave knows by whom";
  job.needs.cpus = 40;
  job.needs.memory_mb = 10;
  job.needs.memory_per_cpu = true;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("b", "small"));
}

TEST(Eligibility, ReservationsThatTheJobWouldMeet) {
  const std::string text =
      "ReservationName=upkeep StartTime=1000 EndTime=2000 Duration=00:16:40 Nodes=a,b NodeCnt=2 CoreCnt=4 Flags=MAINT\n"
      "ReservationName=of a user StartTime=5000 EndTime=6000 Nodes=c Users=ana\n";
  const auto known = eligibility(node("a", "all") + node("b", "all") + node("c", "all"), text);
  SlurmJob job = two_nodes("all");
  job.time_limit_s = 500;
  EXPECT_THAT(known.excluded(job, 400), IsEmpty());
  EXPECT_THAT(known.excluded(job, 600), ElementsAre("a", "b"));
  EXPECT_THAT(known.excluded(job, 2000), IsEmpty());
  job.time_limit_s = 0;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("a", "b", "c")) << "without a limit it meets them all";
  job.needs.reservation = "upkeep";
  EXPECT_TRUE(known.left_to_slurm(job));
}

TEST(Eligibility, WhatIsNotOfNodesIsLeft) {
  const auto known = eligibility(node("a", "all"), "",
                                 "PartitionName=all AllowGroups=ALL ExclusiveUser=NO PriorityTier=1 State=UP\n"
                                 "PartitionName=urgent ExclusiveUser=NO PriorityTier=10 State=UP\n"
                                 "PartitionName=own ExclusiveUser=YES PriorityTier=1 State=UP\n");
  EXPECT_FALSE(known.left_to_slurm(two_nodes("all")));
  EXPECT_TRUE(known.left_to_slurm(two_nodes("own")));
  SlurmJob job = two_nodes("all");
  job.needs.licenses = "matlab:2";
  EXPECT_TRUE(known.left_to_slurm(job));
  EXPECT_EQ(known.tier(two_nodes("urgent,all")), 10U);
}

TEST(Eligibility, StatesAndGpusInUse) {
  const auto nodes =
      read_sinfo(node("a", "all", {{"StateLong", "drained"}}) + node("b", "all", {{"StateLong", "idle*"}}) +
                 node("c", "all", {{"StateLong", "powered_down"}}) +
                 node("d", "all", {{"GresUsed", "gpu:h100:3(IDX:0,2,4),nic:1"}}) + "short line\n");
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_TRUE(nodes[0].unavailable && nodes[1].unavailable);
  EXPECT_FALSE(nodes[2].unavailable || nodes[3].unavailable);
  EXPECT_EQ(nodes[3].gpus_used, 3U);
  EXPECT_EQ(nodes[3].gpus, 8U);
}

TEST(Eligibility, OfSeveralPartitionsItRunsInOne) {
  const std::string partitions =
      "PartitionName=one PriorityTier=1 State=UP MaxNodes=UNLIMITED MinNodes=0 MaxTime=UNLIMITED MaxMemPerNode=500\n"
      "PartitionName=two PriorityTier=5 State=UP MaxNodes=3 MinNodes=0 MaxTime=0:30:00 MaxMemPerNode=UNLIMITED\n";
  const std::string nodes = node("a", "one") + node("b", "one") + node("c", "one") + node("c", "two") +
                            node("d", "two") + node("e", "two", {{"GresUsed", "gpu:8(IDX:0-7)"}});
  const auto known = eligibility(nodes, "", partitions);
  SlurmJob job = two_nodes("one,two");
  job.needs.memory_mb = 100;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("a", "b")) << "two has the higher tier, and two nodes free";
  job.nodes = 3;
  job.gpus = 24;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("d", "e")) << "all of one's are free, two of two's";
  job.needs.memory_mb = 0;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("a", "b")) << "all of a node's memory is more than one allows";
  job = two_nodes("one,two");
  job.needs.memory_mb = 100;
  job.time_limit_s = 3600;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("d", "e")) << "two allows half an hour";
}

TEST(Eligibility, NodesWithFewerGpusThanItAsksForOrOthersAreExcluded) {
  const auto known =
      eligibility(node("a", "all") + node("b", "all", {{"Gres", "gpu:h100:4(S:0),gpu:a100:4"}, {"GresUsed", "gpu:0"}}) +
                      node("c", "all", {{"Gres", "(null)"}, {"GresUsed", "gpu:0"}}) +
                      node("d", "all", {{"Gres", "gpu:4"}, {"GresUsed", "gpu:2(IDX:0-1)"}}),
                  "", "", {{"a", 8}, {"b", 8}, {"d", 8}});
  SlurmJob job = two_nodes("all");
  job.needs.memory_mb = 100;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("c", "d"));
  job.gpus = 8;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("c", "d")) << "the fabric's d has 6 free, Slurm's has 2";
  job.gpus = 4;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("c"));
  job.gpus = 8;
  job.needs.gpu_type = "h100";
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("c", "d")) << "a's have no type";
  job.gpus = 16;
  EXPECT_THAT(known.excluded(job, 0), ElementsAre("b", "c", "d"));
  job.needs.gpus_per_node = 4;
  EXPECT_EQ(known.nodes_free(job, {"a", "b", "c", "d"}), 2U);
  EXPECT_EQ(known.gpus_free({"a", "c", "d"}), 10U);
  const auto undeclared =
      eligibility(node("a", "all", {{"Gres", "(null)"}, {"GresUsed", "gpu:0"}}), "", "", {{"a", 8}});
  EXPECT_THAT(undeclared.excluded(job, 0), IsEmpty()) << "railweave-slurm --gpus-per-node";
}

}  // namespace
}  // namespace railweave::slurm
