#include "services/slurm/ranks/rank_text.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/slurm/ranks/step_command.h"

namespace railweave::slurm {
namespace {

using testing::ElementsAre;

constexpr const char* kLines =
    "# affinity is assumed\n"
    "0 n3 4 NCCL_IB_HCA==mlx5_4:1 NCCL_IB_SL=1 NCCL_ALGO=Ring,Tree NCCL_IB_PKEY=2\n"
    "1 n3 5 NCCL_IB_HCA==mlx5_4:1 NCCL_IB_SL=1 NCCL_ALGO=Ring,Tree NCCL_IB_PKEY=2\n"
    "2 n1 0 NCCL_IB_HCA==mlx5_0:1 NCCL_IB_SL=1 NCCL_ALGO=Ring,Tree NCCL_IB_PKEY=1\n"
    "3 n1 1 NCCL_IB_HCA==mlx5_0:1 NCCL_IB_SL=1 NCCL_ALGO=Ring,Tree NCCL_IB_PKEY=1\n"
    "4 n3 7 NCCL_IB_HCA==mlx5_4:1 NCCL_IB_SL=1 NCCL_ALGO=Ring,Tree NCCL_IB_PKEY=2\n";

TEST(RankText, IsWhatTasksNeedAndNoMore) {
  const auto ranks = read_rank_lines("job-000004", kLines);
  ASSERT_TRUE(ranks) << ranks.error().text();
  const std::string text = write_job_ranks(*ranks, "", 1000);
  EXPECT_EQ(text,
            "job-000004 on n[3,1]; order=0-1x2,0x1 NCCL_ALGO=Ring,Tree NCCL_IB_SL=1"
            " @0 gpus=4-5,7 NCCL_IB_HCA==mlx5_4:1 NCCL_IB_PKEY=2 @1 gpus=0-1 NCCL_IB_HCA==mlx5_0:1 NCCL_IB_PKEY=1");
  EXPECT_EQ(*read_job_ranks("railweave: " + text), *ranks);
  EXPECT_EQ(write_job_ranks(*ranks, "", 40), "job-000004 on n[3,1]");
  EXPECT_EQ(*read_job_ranks("railweave: " + write_job_ranks(*ranks, "where Slurm began it", 1000)), *ranks);
  EXPECT_THAT(read_job_ranks("railweave: job-000004 on n[3,1], where Slurm began it")->nodes, ElementsAre("n3", "n1"));
}

// Random maps of ranks, whole nodes and interleaved ones: what is read is what was written.
TEST(RankText, ReadsBackWhatItWrites) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t nodes = 1 + random() % 40;
    JobRanks ranks{.placement = "job-000009"};
    for (std::uint32_t n = 0; n < nodes; ++n)
      ranks.nodes.push_back("gpu-" + std::to_string(random() % 7) + "-" + std::to_string(n));
    ranks.common["NCCL_IB_SL"] = std::to_string(random() % 16);
    ranks.settings.resize(nodes);
    for (std::uint32_t run = 0; run < nodes * 3; ++run) {
      const std::uint32_t node = run < nodes ? run : random() % nodes;
      for (std::uint32_t rank = 0; rank <= random() % 3; ++rank) {
        ranks.node_of.push_back(node);
        ranks.settings[node].gpus.push_back(random() % 8);
      }
    }
    for (NodeSettings& node : ranks.settings) node.only["NCCL_IB_HCA"] = "=mlx5_" + std::to_string(random() % 2) + ":1";
    const auto read = read_job_ranks("railweave: " + write_job_ranks(ranks, "", 1'000'000));
    ASSERT_TRUE(read) << "seed " << seed << ": " << read.error().text();
    ASSERT_EQ(*read, ranks) << "seed " << seed;
  }
}

TEST(RankText, RefusesWhatOthersWrote) {
  for (const char* text :
       {"", "mine", "railweave: waits: no room", "railweave: job-000001 on", "railweave: job-000001 on n[1",
        "railweave: job-000001 on n1; order=1x8", "railweave: job-000001 on n1; order=0x99999999999",
        "railweave: job-000001 on n1; order=0-4000000000x1", "railweave: job-000001 on n1; @5 gpus=0",
        "railweave: job-000001 on n1; @0 gpus=9-2", "railweave: job-000001 on n1; lower=1"})
    EXPECT_FALSE(read_job_ranks(text)) << text;
  EXPECT_FALSE(read_rank_lines("job-000001", "0 n1 0\n2 n1 1\n"));
  EXPECT_FALSE(read_rank_lines("job-000001", "<html>"));
}

StepCommand command(std::vector<std::string_view> words, std::map<std::string, const char*> variables = {}) {
  words.insert(words.begin(), "srun");
  return read_step_command(
      words,
      [&](const char* name) {
        const auto at = variables.find(name);
        return at == variables.end() ? nullptr : at->second;
      },
      4);
}

TEST(StepCommand, CountsTasksAsSlurmDoes) {
  EXPECT_EQ(command({"./train", "-n", "3"}).tasks, 4U) << "one for each node; options of the program are its own";
  EXPECT_EQ(command({"-n", "32", "./train"}).tasks, 32U);
  EXPECT_EQ(command({"-lun8", "--mpi", "pmix", "--overlap", "train"}).tasks, 8U);
  EXPECT_EQ(command({"--mpi=pmix", "-K1", "--ntasks=16", "train"}).tasks, 16U);
  EXPECT_EQ(command({"--ntasks-per-node", "8", "train"}).tasks, 32U);
  EXPECT_EQ(command({"train"}, {{"SLURM_NTASKS", "32"}}).tasks, 32U);
  EXPECT_EQ(command({"train"}, {{"SLURM_NTASKS_PER_NODE", "8"}}).tasks, 32U);
  EXPECT_EQ(command({"-n2", "train"}, {{"SLURM_NTASKS", "32"}}).tasks, 2U);
  EXPECT_EQ(command({"-n", "many", "train"}).tasks, std::nullopt);
}

TEST(StepCommand, LeavesWhatItsWriterChose) {
  for (const std::vector<std::string_view>& words : {std::vector<std::string_view>{"-w", "n1", "train"},
                                                     {"-wn1", "train"},
                                                     {"--nodelist=n1", "train"},
                                                     {"-N1", "train"},
                                                     {"-m", "block", "train"},
                                                     {"--distribution", "cyclic", "train"},
                                                     {"--jobid=4", "train"},
                                                     {"-x", "n2", "train"},
                                                     {"--gpus-per-task=1", "train"},
                                                     {"train", ":", "train"}})
    EXPECT_TRUE(command(words).chosen) << words.front();
  EXPECT_TRUE(command({"train"}, {{"SLURM_DISTRIBUTION", "block"}}).chosen);
  EXPECT_TRUE(command({"train"}, {{"SLURM_HET_SIZE", "2"}}).chosen);
  EXPECT_FALSE(command({"--exclusive", "-l", "train", "-w", "n1"}).chosen);
}

TEST(StepCommand, OrdersATaskPerRankOrPerNode) {
  const auto ranks = read_rank_lines("job-000004", kLines);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(host_file(*ranks, 5), "n3\nn3\nn1\nn1\nn3\n");
  EXPECT_EQ(host_file(*ranks, 2), "n3\nn1\n");
  EXPECT_EQ(host_file(*ranks, 3), "");
}

}  // namespace
}  // namespace railweave::slurm
