// Slurm's blocks: read, kept to, and judged by what Slurm 24.11.5 begins and what it calls BadConstraints.
#include "services/slurm/blocks.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace railweave::slurm {
namespace {

// As `scontrol show topology` of 24.11 writes it, with blocks of blocks.
constexpr const char* kTopology =
    "BlockName=b0 BlockIndex=0 Nodes=n[01-04] BlockSize=4\n"
    "BlockName=b1 BlockIndex=1 Nodes=n[05-08] BlockSize=4\n"
    "BlockName=b2 BlockIndex=2 Nodes=n[09-12] BlockSize=4\n"
    "BlockName=b[0-1] BlockIndex=3 Nodes=n[01-08] BlockSize=8\n";

std::vector<std::string> nodes(std::initializer_list<int> numbers) {
  std::vector<std::string> names;
  for (const int n : numbers) names.push_back((n < 10 ? "n0" : "n") + std::to_string(n));
  return names;
}

Blocks blocks() {
  Blocks read = read_blocks(kTopology);
  read.level = "leafGroup";
  return read;
}

std::string kept(std::size_t count, const std::string& body = "{}") {
  cli::Json request = cli::Json::parse(body);
  keep_in_blocks(blocks(), count, 8, request);
  return request.dump();
}

TEST(Blocks, AreReadWithoutThoseMadeOfThem) {
  const Blocks read = blocks();
  EXPECT_EQ(read.size, 4U);
  EXPECT_EQ(read.of.size(), 12U);
  EXPECT_EQ(read.of.at("n08"), "b1");
  for (const char* text :
       {"", "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-4]\n", "No topology information available\n",
        "BlockName=b0 Nodes=n[1-4]\n", "BlockName=b0 Nodes=n[1- BlockSize=4\n"})
    EXPECT_FALSE(read_blocks(text).exist()) << text;
}

TEST(Blocks, AllowAsFewOfThemAsTheJobNeeds) {
  const Blocks read = blocks();
  EXPECT_TRUE(read.allow(nodes({1, 2, 3, 4})));
  EXPECT_FALSE(read.allow(nodes({1, 2, 5, 6})));
  EXPECT_TRUE(read.allow(nodes({1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(read.allow(nodes({1, 2, 3, 9, 10, 11})));
  EXPECT_FALSE(read.allow(nodes({1, 2, 5, 6, 9, 10})));
  EXPECT_FALSE(read.allow(nodes({1, 13}))) << "one is in no block";
  EXPECT_TRUE(Blocks().allow(nodes({1, 5, 9}))) << "no blocks, no rule";
}

TEST(Blocks, ARequestIsOneThatTheyAllow) {
  EXPECT_EQ(kept(3), R"({"topology":{"job":{"required":"leafGroup"}}})");
  EXPECT_EQ(kept(3, R"({"topology":{"job":{"required":"rack"}}})"), R"({"topology":{"job":{"required":"rack"}}})");
  EXPECT_EQ(kept(6), R"({"topology":{"slices":[{"level":"leafGroup","size":24}]}})");
  EXPECT_EQ(kept(8, R"({"topology":{"exclusive":"node"}})"),
            R"({"topology":{"exclusive":"node","slices":[{"level":"leafGroup","size":32}]}})");
  EXPECT_EQ(kept(5), "{}") << "no equal shares of two blocks";
  cli::Json request = cli::Json::object();
  keep_in_blocks(Blocks(), 5, 8, request);
  EXPECT_EQ(request.dump(), "{}");
}

}  // namespace
}  // namespace railweave::slurm
