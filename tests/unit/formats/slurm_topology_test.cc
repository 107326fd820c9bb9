#include "fabric/formats/slurm/slurm_topology.h"

#include <random>

#include <gmock/gmock.h>

#include "fabric/formats/native/native_json.h"
#include "fabric/formats/slurm/hostlist.h"
#include "tests/unit/formats/fixtures.h"

namespace railweave::fabric::slurm_topology_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

std::string compressed(const Names& names) { return compress_hostlist(names); }

TEST(Hostlist, CompressesAsSlurmDoes) {  // `scontrol show hostlist`; tests/integration/slurm_test.py asks it
  EXPECT_EQ(compressed({}), "");
  EXPECT_EQ(compressed({"login"}), "login");
  EXPECT_EQ(compressed({"n1"}), "n1");
  EXPECT_EQ(compressed({"n1", "n2", "n3", "n5"}), "n[1-3,5]");
  EXPECT_EQ(compressed({"n8", "n9", "n10", "n11"}), "n[8-11]");
  EXPECT_EQ(compressed({"n08", "n09", "n10"}), "n[08-10]");
  EXPECT_EQ(compressed({"n9", "n010"}), "n[9,010]");
  EXPECT_EQ(compressed({"a1", "b1", "b2", "login", "a2"}), "a1,b[1-2],login,a2");
  EXPECT_EQ(compressed({"rack1-n1", "rack1-n2", "rack2-n1"}), "rack1-n[1-2],rack2-n1");
}

TEST(Hostlist, ExpandsWhatItCompressedOnRandomNames) {
  std::mt19937_64 random(16);
  for (int round = 0; round < 300; ++round) {
    Names names;
    const unsigned count = 1 + random() % 40;
    unsigned number = random() % 120;
    for (unsigned i = 0; i < count; ++i) {
      std::string digits = std::to_string(number);
      if (random() % 3 == 0) digits.insert(0, random() % 3, '0');
      names.push_back((random() % 8 == 0 ? "b-" : "a") + (random() % 20 == 0 ? std::string("x") : digits));
      number += random() % 4 == 0 ? random() % 5 : 1;
    }
    const auto expanded = expand_hostlist(compress_hostlist(names));
    ASSERT_TRUE(expanded) << expanded.error().text();
    EXPECT_EQ(*expanded, names) << compress_hostlist(names);
  }
}

TEST(Hostlist, ReadsNestedBracketsAndRefusesWhatIsNone) {
  EXPECT_THAT(expand_hostlist("r[1-2]n[08-09],x").value(), ElementsAre("r1n08", "r1n09", "r2n08", "r2n09", "x"));
  EXPECT_TRUE(expand_hostlist("").value().empty());
  for (const char* bad : {"n[1-", "n[2-1]", "n[a]", "n]", "n[]", "n[1,]"}) EXPECT_FALSE(expand_hostlist(bad)) << bad;
  EXPECT_FALSE(expand_hostlist("n[1-100]", 99));
  EXPECT_FALSE(expand_hostlist("n[0-18446744073709551615]"));
}

// Leaves of `per_leaf` hosts, `leaves` of them below one spine, `parts` times without a cable between them.
Topology fat_tree(unsigned parts, unsigned leaves, unsigned per_leaf, unsigned hosts_per_domain = 1) {
  std::string domains, switches, hosts, links;
  const auto add = [](std::string& list, const std::string& item) { list += (list.empty() ? "" : ",") + item; };
  const auto link = [&](unsigned a, unsigned a_port, unsigned b, unsigned b_port) {
    add(links, "[" + std::to_string(a) + "," + std::to_string(a_port) + "," + std::to_string(b) + "," +
                   std::to_string(b_port) + ",0]");
  };
  const unsigned switch_count = parts * (1 + leaves);
  for (unsigned p = 0; p < parts; ++p) {
    const unsigned spine = p * (1 + leaves);
    for (unsigned s = 0; s <= leaves; ++s) {
      add(switches, R"({"name":"s)" + std::to_string(spine + s) + R"(","ports":64,"subnet":"s"})");
      if (s == 0) continue;
      link(spine, s, spine + s, 64);
      for (unsigned h = 0; h < per_leaf; ++h) {
        const unsigned n = (p * leaves + s - 1) * per_leaf + h;
        const std::string domain = "nvl-" + std::to_string(n / hosts_per_domain);
        if (n % hosts_per_domain == 0) add(domains, R"({"name":")" + domain + R"("})");
        add(hosts, R"({"name":"n)" + std::to_string(n) +
                       R"(","adapters":[{"device":"mlx5_0","ports":[{}]}],"gpus":[{"domain":")" + domain + R"("}]})");
        link(spine + s, h + 1, switch_count + n, 1);
      }
    }
  }
  const std::string text = R"({"railweave":"fabric","version":1,"subnets":[{"name":"s"}],"nvlinkDomains":[)" + domains +
                           R"(],"switches":[)" + switches + R"(],"hosts":[)" + hosts +
                           R"(],"linkSpecs":[{"speed":"NDR","width":4}],"links":[)" + links + "]}";
  TopologyBuilder builder;
  const auto read = read_native_json(text, {}, builder);
  EXPECT_TRUE(read) << read.error().text() << text;
  return std::move(builder).build().value();
}

std::string written(const Topology& topology, SlurmFormat format, SlurmPlugin plugin) {
  const auto out = write_slurm_topology(topology, format, plugin);
  return out ? out->text : out.error().code;
}

TEST(SlurmTopology, TreeOfLeavesOfNvlinkDomains) {
  EXPECT_EQ(written(fat_tree(1, 2, 4, 2), SlurmFormat::conf, SlurmPlugin::tree),
            "SwitchName=cluster Switches=leafGroup-[0-1]\n"
            "SwitchName=leafGroup-0 Switches=nvl-[0-1]\nSwitchName=leafGroup-1 Switches=nvl-[2-3]\n"
            "SwitchName=nvl-0 Nodes=n[0-1]\nSwitchName=nvl-1 Nodes=n[2-3]\nSwitchName=nvl-2 "
            "Nodes=n[4-5]\nSwitchName=nvl-3 Nodes=n[6-7]\n");
}

TEST(SlurmTopology, PartsThatNothingJoinsHaveNoCommonRoot) {
  const Topology topology = fat_tree(2, 2, 2);
  EXPECT_EQ(written(topology, SlurmFormat::yaml, SlurmPlugin::tree),
            "---\n- topology: railweave\n  cluster_default: true\n  tree:\n    switches:\n"
            "      - switch: \"component-0\"\n        children: \"leafGroup-[0-1]\"\n"
            "      - switch: \"component-1\"\n        children: \"leafGroup-[2-3]\"\n"
            "      - switch: \"leafGroup-0\"\n        nodes: \"n[0-1]\"\n      - switch: \"leafGroup-1\"\n        "
            "nodes: \"n[2-3]\"\n"
            "      - switch: \"leafGroup-2\"\n        nodes: \"n[4-5]\"\n      - switch: \"leafGroup-3\"\n        "
            "nodes: \"n[6-7]\"\n");
  EXPECT_EQ(written(topology, SlurmFormat::conf, SlurmPlugin::block), "slurm.severalFabrics");
  EXPECT_THAT(written(topology, SlurmFormat::yaml, SlurmPlugin::block),
              HasSubstr("- topology: \"railweave-component-1\"\n  cluster_default: false\n"));
}

TEST(SlurmTopology, BlocksAreNvlinkDomainsElseLeafGroups) {
  EXPECT_EQ(written(fat_tree(1, 1, 6, 4), SlurmFormat::conf, SlurmPlugin::block),
            "BlockName=nvl-0 Nodes=n[0-3]\nBlockName=nvl-1 Nodes=n[4-5]\nBlockSizes=2\n");
  EXPECT_EQ(written(fat_tree(1, 2, 3), SlurmFormat::conf, SlurmPlugin::block),
            "BlockName=leafGroup-0 Nodes=n[0-2]\nBlockName=leafGroup-1 Nodes=n[3-5]\nBlockSizes=3\n");
}

TEST(SlurmTopology, NodesOfNamesThatSlurmDoesNotTakeAreLeftOutAndNamed) {
  TopologyBuilder builder;
  ASSERT_TRUE(read_native_json(
      R"({"railweave":"fabric","version":1,"hosts":[{"name":"a b","gpus":[{}]},{"name":"c","gpus":[{}]}]})", {},
      builder));
  const Topology topology = std::move(builder).build().value();
  const auto out = write_slurm_topology(topology, SlurmFormat::conf, SlurmPlugin::tree);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->text, "SwitchName=cluster Nodes=c\n");
  EXPECT_THAT(out->notes, ElementsAre(HasSubstr("'a b'")));
}

}  // namespace
}  // namespace railweave::fabric::slurm_topology_test
