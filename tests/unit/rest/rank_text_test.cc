// Rank maps as launchers read them, read back by small parsers of each grammar written here.
#include "services/rest/json/rank_text.h"

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "scheduler/placement/placer.h"
#include "scheduler/placement/rank_map.h"
#include "services/control/events/apply.h"

namespace railweave::api {
namespace {

using scheduler::Parallelism;

scheduler::PlacementFabricPtr fabric() {
  static const scheduler::PlacementFabricPtr built = [] {
    auto topology = fabric::generate("rail-optimized", {{"hosts", "16"}});
    EXPECT_TRUE(topology) << topology.error().text();
    return std::make_shared<const scheduler::PlacementFabric>(
        std::make_shared<const fabric::Topology>(std::move(*topology)));
  }();
  return built;
}

control::Job placed(Parallelism parallelism, std::uint64_t taken_of_first = 0) {
  scheduler::Placer placer(fabric());
  auto allocations = scheduler::no_allocations(fabric()->topology());
  allocations.write(0).used = taken_of_first;
  placer.sync(allocations);
  control::Job job;
  job.id = control::JobId(7);
  job.spec.parallelism = parallelism;
  auto result = placer.place(job.spec);
  EXPECT_EQ(result.outcome, scheduler::Outcome::placed) << result.explanation.message;
  job.placement = std::move(result.placement);
  job.nodes = control::node_names(fabric()->topology(), job.placement.gpu_of_rank);
  return job;
}

std::string node_of(const control::Job& job, std::uint64_t rank) {
  const auto& topology = fabric()->topology();
  return std::string(topology.name(topology.host(job.placement.gpu_of_rank[rank])));
}
unsigned gpu_of(const control::Job& job, std::uint64_t rank) {
  return static_cast<unsigned>(fabric()->topology().local_index(job.placement.gpu_of_rank[rank]));
}

std::vector<std::string> lines(RankFormat format, const control::Job& job) {
  const auto text = write_rank_text(format, job, *fabric());
  EXPECT_TRUE(text) << text.error().text();
  if (!text) return {};
  EXPECT_TRUE(text->ends_with('\n'));
  std::istringstream in(*text);
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);) all.push_back(line);
  EXPECT_FALSE(all.empty());
  return all;
}

std::smatch matched(const std::string& line, const std::regex& grammar) {
  static std::string kept;
  kept = line;
  std::smatch match;
  EXPECT_TRUE(std::regex_match(kept, match, grammar)) << line;
  return match;
}

const Parallelism kJob{.tensor = 8, .data = 3, .pipeline = 2};

TEST(RankText, HostfileNamesEveryNodeOnceWithItsRanks) {
  const auto job = placed(kJob);
  static const std::regex grammar(R"(([A-Za-z0-9._-]+) slots=([1-9][0-9]*))");
  std::map<std::string, int> slots, expected;
  for (const auto& line : lines(RankFormat::hostfile, job)) {
    const auto match = matched(line, grammar);
    EXPECT_TRUE(slots.emplace(match[1], std::stoi(match[2])).second);
  }
  for (std::uint64_t r = 0; r < 48; ++r) ++expected[node_of(job, r)];
  EXPECT_EQ(slots, expected);
}

TEST(RankText, SlurmHasTheNodeOfEachRankOnItsLine) {
  const auto job = placed(kJob);
  const auto all = lines(RankFormat::slurm, job);
  ASSERT_EQ(all.size(), 48U);
  for (std::uint64_t r = 0; r < 48; ++r) EXPECT_EQ(all[r], node_of(job, r));
}

TEST(RankText, RankfileHasASlotOfItsOwnForEachRank) {
  const auto job = placed({.tensor = 4, .data = 5});
  static const std::regex grammar(R"(rank ([0-9]+)=([A-Za-z0-9._-]+) slot=([0-9]+))");
  std::set<std::pair<std::string, std::string>> used;
  std::uint64_t next = 0;
  for (const auto& line : lines(RankFormat::mpi, job)) {
    const auto match = matched(line, grammar);
    EXPECT_EQ(std::stoull(match[1]), next);
    EXPECT_EQ(match[2], node_of(job, next));
    EXPECT_EQ(std::stoul(match[3]), gpu_of(job, next));
    EXPECT_TRUE(used.emplace(match[2], match[3]).second);
    ++next;
  }
  EXPECT_EQ(next, 20U);
}

TEST(RankText, TorchrunCountsRanksAsTheJobDoes) {
  const auto job = placed(kJob);
  static const std::regex grammar(
      R"(([A-Za-z0-9._-]+): CUDA_VISIBLE_DEVICES=([0-9,]+) torchrun --nnodes=([0-9]+) --nproc-per-node=([0-9]+) )"
      R"(--node-rank=([0-9]+) --rdzv-backend=static --rdzv-id=job-000007 --rdzv-endpoint=([A-Za-z0-9._-]+):([0-9]+))");
  std::uint64_t node_rank = 0;
  for (const auto& line : lines(RankFormat::torchrun, job)) {
    const auto match = matched(line, grammar);
    EXPECT_EQ(std::stoul(match[3]), 6U);
    EXPECT_EQ(std::stoul(match[5]), node_rank);
    EXPECT_EQ(match[6], node_of(job, 0));
    const std::uint64_t each = std::stoull(match[4]);
    std::istringstream devices(match[2]);
    std::string device;
    for (std::uint64_t local = 0; local < each; ++local) {
      const std::uint64_t rank = node_rank * each + local;  // as torchrun's static rendezvous numbers them
      ASSERT_TRUE(std::getline(devices, device, ','));
      EXPECT_EQ(match[1], node_of(job, rank));
      EXPECT_EQ(std::stoul(device), gpu_of(job, rank));
    }
    EXPECT_FALSE(std::getline(devices, device, ','));
    ++node_rank;
  }
  EXPECT_EQ(node_rank, 6U);
}

TEST(RankText, TorchrunIsRefusedWhereNodesHaveUnequalShares) {
  const auto refused = write_rank_text(RankFormat::torchrun, placed({.data = 12}), *fabric());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "ranks.notByNode");
}

TEST(RankText, NcclNamesTheAdaptersNearestToEachGpu) {
  const auto job = placed(kJob);
  const scheduler::RankMap map(*fabric(), kJob, job.placement.gpu_of_rank);
  static const std::regex grammar(
      R"(([0-9]+) ([A-Za-z0-9._-]+) ([0-9]+) NCCL_IB_HCA==([A-Za-z0-9_:,]+) NCCL_IB_SL=([0-9]|1[0-5]) )"
      R"(NCCL_IB_TC=([0-9]+) NCCL_CROSS_NIC=([012]) NCCL_ALGO=([A-Za-z,]+))");
  std::uint64_t next = 0;
  for (const auto& line : lines(RankFormat::nccl, job)) {
    const auto match = matched(line, grammar);
    EXPECT_EQ(std::stoull(match[1]), next);
    EXPECT_EQ(match[2], node_of(job, next));
    EXPECT_EQ(std::stoul(match[3]), gpu_of(job, next));
    const auto& nics = map[next].nics;
    ASSERT_EQ(nics.size(), 1U);
    EXPECT_EQ(match[4], std::string(fabric()->topology().device(nics[0].hca)) + ":1");
    ++next;
  }
  EXPECT_EQ(next, 48U);
}

TEST(RankText, AJobWithoutRanksAndANodeWithoutAHostNameAreRefused) {
  auto job = placed(kJob);
  job.nodes.front() = "node 1; reboot";
  EXPECT_EQ(write_rank_text(RankFormat::slurm, job, *fabric()).error().code, "ranks.nodeName");
  job.placement.gpu_of_rank.clear();
  EXPECT_EQ(write_rank_text(RankFormat::slurm, job, *fabric()).error().code, "ranks.ended");
}

}  // namespace
}  // namespace railweave::api
