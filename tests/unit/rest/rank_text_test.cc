// Rank maps as launchers read them, read back by small parsers of each grammar written here.
#include "services/rest/json/ranks/rank_text.h"

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "scheduler/placement/placer.h"
#include "scheduler/placement/rank_map.h"
#include "services/control/events/apply.h"
#include "services/rest/json/ranks/library_variables.h"
#include "services/rest/json/ranks/rank_nodes.h"

namespace railweave::api::rank_text_test {
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

// Ranks dealt to two nodes in turns, on GPUs of other numbers: 0, 2, 4 on the first node, 1, 3, 5 on the second.
control::Job dealt_in_turns() {
  control::Job job = placed({.data = 6});
  const auto& topology = fabric()->topology();
  const auto gpu = [&](std::uint32_t host, std::uint32_t local) { return topology.gpus(fabric::HostId(host))[local]; };
  for (std::uint32_t r = 0; r < 6; ++r) job.placement.gpu_of_rank[r] = gpu(r % 2, 7 - r / 2);
  job.nodes = control::node_names(topology, job.placement.gpu_of_rank);
  return job;
}

std::vector<std::string> lines(RankFormat format, const control::Job& job, bool with_script = true) {
  const auto text = write_rank_text(format, job, *fabric(), {}, with_script);
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

TEST(RankText, HostfileAndTorchrunAreRefusedWhereRanksAreDealtInTurns) {
  const auto job = dealt_in_turns();
  for (const RankFormat format : {RankFormat::hostfile, RankFormat::torchrun}) {
    const auto refused = write_rank_text(format, job, *fabric(), {}, true);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "ranks.notByNode");
  }
}

TEST(RankText, FilesWithoutGpusAreRefusedWhereLocalRanksHaveOthersUnlessTheScriptTellsThem) {
  for (const auto& job : {dealt_in_turns(), placed({.tensor = 4}, 0b1111)}) {
    for (const RankFormat format : {RankFormat::slurm, RankFormat::mpi}) {
      const auto refused = write_rank_text(format, job, *fabric());
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, "ranks.gpuNotLocalRank");
      EXPECT_EQ(lines(format, job, true).size(), job.placement.gpu_of_rank.size());
    }
  }
  EXPECT_EQ(lines(RankFormat::hostfile, placed({.tensor = 8}), false).size(), 1U);
}

TEST(RankText, RankfileNamesTheNodeOfEachRankAndBindsNoneToACore) {
  static const std::regex grammar(R"(rank ([0-9]+)=([A-Za-z0-9._-]+) slot=S\*)");
  for (const auto& job : {placed({.tensor = 4, .data = 5}), dealt_in_turns()}) {
    std::uint64_t next = 0;
    for (const auto& line : lines(RankFormat::mpi, job)) {
      const auto match = matched(line, grammar);
      EXPECT_EQ(std::stoull(match[1]), next);
      EXPECT_EQ(match[2], node_of(job, next));
      ++next;
    }
    EXPECT_EQ(next, job.placement.gpu_of_rank.size());
  }
}

TEST(RankText, TorchrunCountsRanksAsTheJobDoes) {
  const auto job = placed(kJob);
  static const std::regex grammar(
      R"(([A-Za-z0-9._-]+): CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=([0-9,]+) torchrun --nnodes=([0-9]+) )"
      R"(--nproc_per_node=([0-9]+) --node_rank=([0-9]+) --rdzv_backend=static --rdzv_id=job-000007 )"
      R"(--rdzv_endpoint=([A-Za-z0-9._-]+):([0-9]+))");
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

// NCCL's maintainers: never a list per rank (NVIDIA/nccl#1478). It holds the adapters of all the job's GPUs of the node,
// and no others.
TEST(RankText, NcclHasOneListOfAdaptersForAllRanksOfANode) {
  static const std::regex grammar(
      R"(([0-9]+) ([A-Za-z0-9._-]+) ([0-9]+) NCCL_IB_HCA==([A-Za-z0-9_:,]+)( NCCL_CROSS_NIC=0)?)");
  for (const auto& job : {placed(kJob), dealt_in_turns()}) {
    const scheduler::RankMap map(*fabric(), job.spec.parallelism, job.placement.gpu_of_rank);
    std::map<std::string, std::set<std::string>> lists, expected;
    std::uint64_t next = 0;
    for (const auto& line : lines(RankFormat::nccl, job)) {
      const auto match = matched(line, grammar);
      EXPECT_EQ(std::stoull(match[1]), next);
      EXPECT_EQ(match[2], node_of(job, next));
      EXPECT_EQ(std::stoul(match[3]), gpu_of(job, next));
      lists[match[2]].insert(match[4]);
      for (const auto& nic : map[next].nics) {
        expected[match[2]].insert(std::string(fabric()->topology().device(nic.hca)) + ":1");
      }
      ++next;
    }
    EXPECT_EQ(next, job.placement.gpu_of_rank.size());
    ASSERT_FALSE(lists.empty());
    for (const auto& [node, of_ranks] : lists) {
      ASSERT_EQ(of_ranks.size(), 1U) << node;
      std::set<std::string> named;
      std::istringstream in(*of_ranks.begin());
      for (std::string adapter; std::getline(in, adapter, ',');) EXPECT_TRUE(named.insert(adapter).second) << adapter;
      EXPECT_EQ(named, expected[node]);
    }
  }
}

TEST(RankText, LibrariesAreToldTheLevelOfTheJobsPathsWhereTheyHaveOne) {
  RankMarks marks;
  marks.on_infiniband = true;
  const auto value = [&](const std::string& name) {
    for (const auto& [of, text] : class_variables(marks)) {
      if (of == name) return text;
    }
    return std::string("-");
  };
  EXPECT_EQ(value("NCCL_IB_SL"), "-") << "routes give no levels";
  marks.path_levels = 1;
  EXPECT_EQ(value("NCCL_IB_SL"), "-") << "level 0, as packets have that nothing marks";
  marks.path_levels = 1U << 2U;
  EXPECT_EQ(value("NCCL_IB_SL"), "2");
  EXPECT_EQ(value("UCX_IB_SL"), "2");
  EXPECT_EQ(value("NCCL_IB_TC"), "-") << "no class";
  marks.of_class = ClassMarks{.service_level = 4, .traffic_class = 104};
  EXPECT_EQ(value("NCCL_IB_SL"), "6") << "of the class, for that level of the routes";
  marks.path_levels = 0b101;
  EXPECT_EQ(value("NCCL_IB_SL"), "-") << "no one level is right for all of its packets";
  EXPECT_EQ(value("RAILWEAVE_PATH_LEVELS"), "4,6");
  EXPECT_EQ(value("NCCL_IB_TC"), "104");
  EXPECT_NE(value("RAILWEAVE_OUTSIDE_CLASS").find("nccl"), std::string::npos);
}

// Names and forms of values as each library's own documentation has them.
TEST(RankText, LibrariesAreToldClassAndPartitionInTheirOwnNames) {
  const auto job = placed({.tensor = 8, .data = 2});
  RankMarks marks;
  marks.of_class = ClassMarks{.service_level = 3, .traffic_class = 104};
  marks.pkey = 0x12;
  marks.pkey_index = [](fabric::HostId) { return std::uint16_t{2}; };
  marks.on_infiniband = true;
  const std::map<std::string, std::string> of_class = {{"NCCL_IB_SL", "3"},
                                                       {"NCCL_IB_TC", "104"},
                                                       {"NCCL_IB_FIFO_TC", "104"},
                                                       {"EP_OVERRIDE_RDMA_SL", "3"},
                                                       {"UCX_IB_SL", "3"},
                                                       {"UCX_IB_TRAFFIC_CLASS", "104"},
                                                       {"NVSHMEM_IB_SL", "3"},
                                                       {"NVSHMEM_IB_TRAFFIC_CLASS", "104"},
                                                       {"MC_IB_SL", "3"},
                                                       {"MC_IB_TC", "104"},
                                                       {"MORI_RDMA_SL", "3"},
                                                       {"MORI_RDMA_TC", "104"},
                                                       {"MORI_IO_SL", "3"},
                                                       {"MORI_IO_TC", "104"},
                                                       {"UCCL_IB_SL", "3"},
                                                       {"UCCL_IB_TC", "104"},
                                                       {"ROCSHMEM_GDA_TRAFFIC_CLASS", "104"}};
  const std::map<std::string, std::string> of_partition = {
      {"NCCL_IB_PKEY", "2"}, {"MC_PKEY_INDEX", "2"}, {"UCX_IB_PKEY", "0x12"}};
  const auto variables_of = [&](const std::string& text) {
    std::vector<std::map<std::string, std::string>> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with('#')) continue;
      std::istringstream words(line);
      std::map<std::string, std::string> of;
      for (std::string word; words >> word;) {
        const auto at = word.find('=');
        if (at != std::string::npos) of[word.substr(0, at)] = word.substr(at + 1);
      }
      found.push_back(std::move(of));
    }
    return found;
  };
  const auto text = write_rank_text(RankFormat::nccl, job, *fabric(), marks);
  ASSERT_TRUE(text);
  const auto ranks = variables_of(*text);
  EXPECT_EQ(ranks.size(), 16U);
  for (auto of : ranks) {
    for (const auto& [name, value] : of_class) EXPECT_EQ(of[name], value) << name;
    for (const auto& [name, value] : of_partition) EXPECT_EQ(of[name], value) << name;
    EXPECT_EQ(of["RAILWEAVE_OUTSIDE_CLASS"], "rocshmem,libfabric,gloo") << "rocSHMEM knows no service level";
    EXPECT_EQ(of["RAILWEAVE_OUTSIDE_PARTITION"], "nvshmem,mori,uccl,rocshmem,libfabric,gloo");
  }
  for (const auto format : {RankFormat::nccl, RankFormat::script}) {
    const auto told = write_rank_text(format, job, *fabric(), marks);
    EXPECT_NE(told->find("# outside the job's class, as they read no variable for it: rocshmem, libfabric, gloo\n"),
              std::string::npos);
  }
  // On Ethernet the DSCP decides, and there are no partitions.
  RankMarks ethernet;
  ethernet.of_class = marks.of_class;
  ethernet.on_ethernet = true;
  for (auto of : variables_of(*write_rank_text(RankFormat::nccl, job, *fabric(), ethernet))) {
    EXPECT_EQ(of["RAILWEAVE_OUTSIDE_CLASS"], "libfabric,gloo");
    EXPECT_FALSE(of.contains("NCCL_IB_PKEY") || of.contains("UCX_IB_PKEY") ||
                 of.contains("RAILWEAVE_OUTSIDE_PARTITION"));
  }
  // Without a class nothing is told of one: what users and hosts have set stays.
  for (auto of : variables_of(*write_rank_text(RankFormat::nccl, job, *fabric(), RankMarks{.on_ethernet = true}))) {
    for (const auto& [name, value] : of) EXPECT_TRUE(name == "NCCL_IB_HCA" || name == "NCCL_CROSS_NIC") << name;
  }
}

TEST(RankText, TheScriptHasAllGpusOfANodeInOrderOfLocalRanks) {
  const auto all = lines(RankFormat::script, dealt_in_turns());
  EXPECT_EQ(all.front(), "#!/bin/sh");
  std::set<std::string> ranks;
  for (const auto& line : all) {
    static const std::regex grammar(
        R"(([0-9|]+)\) export RAILWEAVE_NODE=(\S+) CUDA_VISIBLE_DEVICES=7,6,5 NCCL_IB_HCA==(\S+) ;;)");
    std::smatch match;
    if (std::regex_match(line, match, grammar)) ranks.insert(match[1]);
  }
  EXPECT_EQ(ranks, (std::set<std::string>{"0|2|4", "1|3|5"}));
}

TEST(RankText, NodeDescriptionsAreNoNamesOfRdmaDevices) {
  for (const auto* name : {"mlx5_0", "mlx5_bond_0", "mlx4_1", "bnxt_re0", "hfi1_0", "irdma1", "efa_0", "rxe0",
                           "ibp65s0", "ibP2p1s0", "rocep1s0f1", "rdmap0s6", "ibo1", "rocex506b4b0300c7f1a2"}) {
    EXPECT_TRUE(is_rdma_device_name(name)) << name;
  }
  for (const auto* name : {"", "HCA-1", "HCA-6", "ConnectX-7", "MT4129", "backup", "port1", "node-7", "eth0", "ib0",
                           "bond0", "ens5f0", "mlx5_", "mlx5_0 x", "mlx5_0,mlx5_1", "mlx5_0:1", "rocexyz", "ibn"}) {
    EXPECT_FALSE(is_rdma_device_name(name)) << name;
  }
}

TEST(RankText, AJobWithoutRanksAndANodeWithoutAHostNameAreRefused) {
  auto job = placed(kJob);
  job.nodes.front() = "node 1; reboot";
  EXPECT_EQ(write_rank_text(RankFormat::slurm, job, *fabric()).error().code, "ranks.nodeName");
  job.placement.gpu_of_rank.clear();
  EXPECT_EQ(write_rank_text(RankFormat::slurm, job, *fabric()).error().code, "ranks.ended");
}

}  // namespace
}  // namespace railweave::api::rank_text_test
