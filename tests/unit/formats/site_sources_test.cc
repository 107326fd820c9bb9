// Sources of a site in their less usual forms: what a quiet or a cloud's cluster tells, SONiC's tables of neighbours, texts for people, packed
// files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/formats/native/native_json.h"
#include "fabric/formats/sources/site_import.h"
#include "fabric/formats/sources/source_kind.h"
#include "fabric/topology/checks/checks.h"
#include "tests/unit/formats/fixtures.h"
#include "tests/unit/formats/site_samples.h"

namespace railweave::fabric::site_sources_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Each text under its file's name.
Result<SiteImport> import(const std::map<std::string, std::string>& texts, const SiteImportOptions& options = {}) {
  std::vector<SiteSource> sources;
  for (const auto& [name, text] : texts) sources.push_back({name, device_of_file(name), "", recognise(text), text});
  return import_site(sources, options);
}

TopologyPtr must_import(const std::map<std::string, std::string>& texts, const SiteImportOptions& options = {}) {
  auto imported = import(texts, options);
  EXPECT_TRUE(imported) << (imported ? "" : imported.error().text());
  return imported ? imported->topology : std::make_shared<const Topology>(empty_topology());
}

std::vector<Finding> checked(const Topology& topology, std::string_view code) {
  std::vector<Finding> found;
  for (const Finding& finding : check_fabric(topology)) {
    if (finding.code == code) found.push_back(finding);
  }
  return found;
}

std::string node(const std::string& name, const std::string& labels, int gpus = 8) {
  return R"({"kind":"Node","metadata":{"name":")" + name + R"(","labels":{)" + labels +
         R"(}},"status":{"capacity":{"nvidia.com/gpu":")" + std::to_string(gpus) + R"("}}})";
}

std::string nodes(const std::vector<std::string>& items) {
  std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (const std::string& item : items) text += (text.ends_with('[') ? "" : ",") + item;
  return text + "]}";
}

// The switch that stands for the nearest group of each host.
std::vector<std::string> groups(const Topology& topology, const std::vector<const char*>& hosts) {
  std::vector<std::string> names;
  for (const char* host : hosts) {
    std::string name = "none";
    for (const LinkId link : topology.links()) {
      const HcaId hca =
          topology.hca_of(topology.b(link)) ? topology.hca_of(topology.b(link)) : topology.hca_of(topology.a(link));
      const SwitchId sw = topology.switch_of(topology.a(link)) ? topology.switch_of(topology.a(link))
                                                               : topology.switch_of(topology.b(link));
      if (hca && sw && topology.host(hca) == topology.find_host(host)) name = topology.name(sw);
    }
    names.push_back(name);
  }
  return names;
}

const std::string kNeighbours = R"({"BUFFER_PG_TABLE:Ethernet0:0":{"value":{"profile":"lossy"}},
"LLDP_ENTRY_TABLE:Ethernet0":{"expireat":1,"ttl":-0.001,"type":"hash","value":{"lldp_rem_sys_name":"dgx-1","lldp_rem_port_id":"b8:3f:d2:00:00:01","lldp_rem_port_id_subtype":"3","lldp_rem_port_desc":"eth2","lldp_rem_sys_cap_enabled":"01 00"}},
"LLDP_ENTRY_TABLE:Ethernet8":{"value":{"lldp_rem_sys_name":"spine-1.example","lldp_rem_port_id":"Ethernet0","lldp_rem_port_id_subtype":"7","lldp_rem_port_desc":"to leaf-1","lldp_rem_sys_cap_enabled":"28 00"}},
"LLDP_ENTRY_TABLE:Ethernet16":{"value":{"lldp_rem_sys_name":"","lldp_rem_port_id":"0","lldp_rem_port_id_subtype":"7"}},
"LLDP_ENTRY_TABLE:eth0":{"value":{"lldp_rem_sys_name":"oob","lldp_rem_port_id":"swp1","lldp_rem_port_id_subtype":"5"}},
"LLDP_LOC_CHASSIS":{"value":{"lldp_loc_sys_name":"leaf-1"}},
"PORT_TABLE:Ethernet0":{"value":{"speed":"200000"}},"PORT_TABLE:Ethernet8":{"value":{"speed":"800000"}}})";

TEST(SiteSources, SonicsTablesOfNeighboursAreCables) {
  EXPECT_EQ(recognise(kNeighbours).kind, SourceKind::sonic_neighbours);
  const TopologyPtr t = must_import({{"switch-7.json", kNeighbours}});
  ASSERT_EQ(t->switches().size(), 2U);
  ASSERT_EQ(t->hosts().size(), 1U);
  const SwitchId leaf = t->find_switch("leaf-1");
  ASSERT_TRUE(leaf);
  EXPECT_TRUE(t->find_switch("spine-1"));
  EXPECT_TRUE(t->find_host("dgx-1"));
  EXPECT_EQ(t->rate(t->link(t->ports(leaf)[0])), from_gbps(200));
  EXPECT_EQ(t->rate(t->link(t->ports(leaf)[1])), from_gbps(800));
  const auto left_out = findings(*t, "rowsLeftOut");
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_THAT(left_out.front().objects,
              ElementsAre("Ethernet16: its neighbour has no name or no port", "eth0: it is the management port"));
  EXPECT_THAT(findings(*t, "speedAssumed"), IsEmpty());
}

TEST(SiteSources, SonicsTablesInTheirOtherForms) {
  // Rows without "value" in whole tables, of a switch that does not tell its name; far down in a large database.
  std::string text = "{";
  for (int i = 0; i < 6000; ++i)
    text += "\"FDB_TABLE:Vlan1:" + std::to_string(i) + R"(":{"value":{"port":"Ethernet0"}},)";
  text +=
      R"("LLDP_ENTRY_TABLE":{"Ethernet4":{"lldp_rem_sys_name":"n1","lldp_rem_port_id":"aa:bb","lldp_rem_port_id_subtype":"3"}}})";
  EXPECT_EQ(recognise(text).kind, SourceKind::sonic_neighbours);
  const TopologyPtr t = must_import({{"leaf-9.json", text}});
  EXPECT_TRUE(t->find_switch("leaf-9"));
  EXPECT_TRUE(t->find_host("n1"));
  const auto none = import({{"leaf-9.json", R"({"LLDP_ENTRY_TABLE":{}})"}});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), AllOf(HasSubstr("leaf-9.json"), HasSubstr("no row of LLDP_ENTRY_TABLE")));
  for (std::size_t end = 1; end < kNeighbours.size(); ++end) {  // cut off anywhere: never more than an error
    const std::string cut = kNeighbours.substr(0, end);
    if (recognise(cut).kind == SourceKind::sonic_neighbours) {
      EXPECT_FALSE(import({{"a.json", cut}})) << end;
    }
  }
}

TEST(SiteSources, BothEndsOfACableAreOneAndAConfigurationCompletesIt) {
  const std::string spine =
      R"({"LLDP_ENTRY_TABLE:Ethernet0":{"value":{"lldp_rem_sys_name":"leaf-1","lldp_rem_port_id":"Ethernet8","lldp_rem_port_id_subtype":"7"}},
"LLDP_LOC_CHASSIS":{"value":{"lldp_loc_sys_name":"spine-1"}}})";
  const TopologyPtr t = must_import({{"a.json", kNeighbours}, {"b.json", spine}});
  EXPECT_EQ(count(*t).inter_switch_links, 1U);
  EXPECT_EQ(summarize(*t).host_links, 1U);
}

TEST(SiteSources, ADumpWithoutASharedSwitchIsOfASubnetOfItsOwn) {
  const std::string compute = site_samples().at("ibdiagnet2.db_csv");
  std::string storage = compute;  // the same LIDs, other devices: two of its hosts have adapters in both subnets
  for (const auto& [from, to] : {std::pair<std::string, std::string>("0x", "0x77"),
                                 {"leaf-", "store-"},
                                 {"\"spine\"", "\"core\""},
                                 {"n3 mlx5_0", "s3 mlx5_0"},
                                 {"n4 mlx5_0", "s4 mlx5_0"},
                                 {"mlx5_0", "mlx5_9"}}) {
    for (auto at = storage.find(from); at != std::string::npos; at = storage.find(from, at + to.size()))
      storage.replace(at, from.size(), to);
  }
  const TopologyPtr t = must_import({{"compute.db_csv", compute}, {"storage.txt", storage}});
  EXPECT_EQ(t->subnets().size(), 2U);
  EXPECT_EQ(t->name(t->subnet(t->find_switch("leaf-1"))), "default");
  EXPECT_EQ(t->name(t->subnet(t->find_switch("store-1"))), "storage");
  EXPECT_EQ(t->hosts().size(), 6U) << "n1 and n2 have adapters in both";
  EXPECT_THAT(checked(*t, "duplicateLid"), IsEmpty());
  EXPECT_THAT(checked(*t, "severalComponents"), IsEmpty());
  ASSERT_EQ(findings(*t, "subnetOfItsOwn").size(), 1U);
  EXPECT_THAT(findings(*t, "subnetOfItsOwn").front().message,
              HasSubstr("storage.txt shares no switch with compute.db_csv"));
  // A third dump of the same subnet is compared with it, and one of yet another has a name that is free.
  std::string third = storage;
  for (auto at = third.find("0x77"); at != std::string::npos; at = third.find("0x77", at + 4))
    third.replace(at, 4, "0x99");
  const TopologyPtr more =
      must_import({{"compute.db_csv", compute}, {"storage.txt", storage}, {"storage.xml", third}, {"y.txt", storage}});
  EXPECT_EQ(more->subnets().size(), 3U);
  EXPECT_THAT(findings(*more, "sourcesDisagree"), IsEmpty());
}

TEST(SiteSources, NodesOfWhichNoGroupIsKnownReachEachOther) {
  const TopologyPtr t = must_import({{"nodes.json", nodes({node("a", ""), node("b", ""), node("c", "")})}});
  EXPECT_EQ(summarize(*t).components, 1U);
  EXPECT_EQ(summarize(*t).host_links, 3U);
  const auto unknown = findings(*t, "hostsWithoutGroup");
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_THAT(unknown.front().message, AllOf(HasSubstr("3 hosts"), HasSubstr("not known")));
  EXPECT_THAT(unknown.front().objects, ElementsAre("a", "b", "c"));
  EXPECT_THAT(checked(*t, "hostWithoutLinks"), IsEmpty());
  // One machine's report tells of no network at all.
  EXPECT_EQ(must_import({{"nodes.json", nodes({node("a", "")})}})->switches().size(), 0U);
}

TEST(SiteSources, ZonesAreGroupsWhereNothingElseIs) {
  const auto zone = [](const std::string& name) {
    return R"("topology.kubernetes.io/zone":"westeurope-)" + name + "\"";
  };
  const std::string text = nodes({node("a", zone("1")), node("b", zone("1")), node("c", zone("2")), node("d", "")});
  const TopologyPtr t = must_import({{"nodes.json", text}});
  EXPECT_THAT(groups(*t, {"a", "b", "c", "d"}),
              ElementsAre("westeurope-1", "westeurope-1", "westeurope-2", "no-group"));
  EXPECT_EQ(summarize(*t).components, 1U);
  EXPECT_THAT(findings(*t, "hostsWithoutGroup").front().objects, ElementsAre("d"));
  EXPECT_THAT(findings(*t, "groupsTakenAsJoined").front().message, HasSubstr("3 outermost groups"));
  // Cables know better, and a zone of many leaves contradicts none of them.
  const std::string cabled = nodes({node("n1", zone("1")), node("n3", zone("1"))});
  const TopologyPtr c = must_import({{"links.txt", site_samples().at("links.txt")}, {"nodes.json", cabled}});
  EXPECT_EQ(c->switches().size(), 3U);
  EXPECT_THAT(findings(*c, "groupNotNear"), IsEmpty());
}

TEST(SiteSources, LabelsOfMoreClouds) {
  const std::vector<std::array<std::string, 3>> families = {
      {"topology.nebius.com/tier-1", "topology.nebius.com/tier-2", "topology.nebius.com/tier-0"},
      {"backend.coreweave.cloud/leafgroup", "backend.coreweave.cloud/superpod", "ds.coreweave.com/nvlink.domain"},
      {"topology.k8s.aws/network-node-layer-3", "topology.k8s.aws/network-node-layer-2",
       "topology.k8s.aws/ultraserver-id"},
      {"ib.coreweave.cloud/leafgroup", "ib.coreweave.cloud/superpod", "ds.coreweave.com/nvlink.domain"}};
  for (const auto& [near, far, domain] : families) {
    const auto labels = [&](const std::string& group, const std::string& nvlink) {
      return "\"" + near + "\":\"" + group + "\",\"" + far + "\":\"s1\",\"" + domain + "\":\"" + nvlink + "\"";
    };
    const TopologyPtr t = must_import(
        {{"nodes.json",
          nodes({node("a", labels("g1", "d1")), node("b", labels("g1", "d1")), node("c", labels("g2", "d2"))})}});
    EXPECT_THAT(groups(*t, {"a", "b", "c"}), ElementsAre("g1", "g1", "g2")) << near;
    EXPECT_EQ(t->nvlink_domains().size(), 2U) << domain;
    EXPECT_THAT(findings(*t, "hostsWithoutGroup"), IsEmpty());
  }
}

// The first versions list switches and blocks, later ones have maps of switches and call NVLink domains by labels.
TEST(SiteSources, ModelsOfTopographAsEachVersionWritesThem) {
  const std::string listed =
      R"({"switches":[{"name":"top","metadata":{"region":"west"},"switches":["leaf-a","leaf-b"]},)"
      R"({"name":"leaf-a","capacity_blocks":["ba"]},{"name":"leaf-b","capacity_blocks":["bb","bz"]}],)"
      R"("capacity_blocks":[{"name":"ba","type":"GB200","nvlink":"d1","nodes":["a","b"]},{"name":"bb","nvlink":"d2","nodes":["c[1-2]"]},)"
      R"({"name":"bc","nodes":["e"]}]})";
  const TopologyPtr old = must_import({{"model.json", listed}}, {.gpus_per_node = 4});
  EXPECT_THAT(groups(*old, {"a", "b", "c1", "c2", "e"}),
              ElementsAre("leaf-a", "leaf-a", "leaf-b", "leaf-b", "no-group"));
  EXPECT_EQ(old->nvlink_domains().size(), 3U) << "d1, d2, and that of e alone";
  EXPECT_THAT(findings(*old, "rowsLeftOut").front().message, HasSubstr("there is no block bz"));
  for (const std::string label : {"accelerator.topograph.run/domain", "network.topology.nvidia.com/accelerator",
                                  "accelerated.topology.nvidia.com/level-0"}) {
    const auto block = [&](const std::string& leaf, const std::string& nodes, const std::string& domain) {
      return R"({"switch":")" + leaf + R"(","nodes":)" + nodes + R"(,"labels":{"zone":"z","labelled/)" +
             "x\":\"y\",\"" + label + "\":\"" + domain + "\"}}";
    };
    const TopologyPtr t = must_import(
        {{"model.json", R"({"switches":{"top":{"switches":["l1","l2"]}},"blocks":[)" +
                            block("l1", R"(["a[1-2]"])", "d1") + "," + block("l2", R"(["b","c"])", "d2") + "]}"}},
        {.gpus_per_node = 4});
    EXPECT_THAT(groups(*t, {"a1", "a2", "b", "c"}), ElementsAre("l1", "l1", "l2", "l2")) << label;
    EXPECT_EQ(t->nvlink_domains().size(), 2U) << label;
  }
}

TEST(SiteSources, RatesThatAreAssumedAreNotSlow) {
  const auto group = [](const char* name) {
    return R"("fabric.topograph.run/tier-0":")" + std::string(name) + R"(","fabric.topograph.run/tier-1":"top")";
  };
  const std::string text = nodes({node("a", group("g1")), node("b", group("g1")), node("c", group("g2")),
                                  node("d", group("g3")), node("e", group("g3"), 4)});
  const TopologyPtr t = must_import({{"nodes.json", text}});
  EXPECT_THAT(checked(*t, "linkSlowerThanClass"), IsEmpty());
  EXPECT_THAT(checked(must_read(write_native_json(*t)), "linkSlowerThanClass"), IsEmpty())
      << "and after the fabric was stored";
}

TEST(SiteSources, QuietClustersAreRead) {
  const std::string meta = R"("meta":{"plugin":{"type":"openapi"},"command":["COMMAND"],"slurm":{"release":"25.05"}})";
  const auto of = [&](const std::string& body, const char* command) {
    std::string text = "{" + body + "," + meta + "}";
    text.replace(text.find("COMMAND"), 7, command);
    return recognise(text).kind;
  };
  EXPECT_EQ(of(R"("jobs":[])", "squeue"), SourceKind::slurm_jobs);
  EXPECT_EQ(of(R"("jobs":[])", "sacct"), SourceKind::slurm_accounting);
  EXPECT_EQ(of(R"("nodes":[])", "scontrol"), SourceKind::slurm_nodes);
  EXPECT_EQ(recognise(R"({"apiVersion":"v1","items":[],"kind":"List","metadata":{"resourceVersion":""}})").kind,
            SourceKind::kubernetes_pods);
  for (const char* other :
       {R"({"jobs":[]})", R"({"jobs":[],"meta":{"total":0}})", R"({"nodes":[],"meta":{"page":1}})"}) {
    EXPECT_EQ(recognise(other).kind, SourceKind::unknown) << other;
  }
}

TEST(SiteSources, TextsForPeopleAreToldWhatToGiveInstead) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"NodeName=n1 Arch=x86_64 CoresPerSocket=1\n   Gres=gpu:8\n", "scontrol show nodes: give it with --json"},
      {"             JOBID PARTITION     NAME     USER ST  TIME  NODES NODELIST(REASON)\n 7 gpu\n",
       "squeue: give it with --json"},
      {"NAME   STATUS   ROLES    AGE   VERSION\nn1     Ready    <none>   1d    v1.36.3\n",
       "kubectl: give it with -o json"},
      {"LocalPort    RemoteDevice    RemotePortID\n---------  ----\nEthernet0  dgx-1  eth2\n", "sonic-db-dump"},
      {"JobID,User,State\n1,ada,COMPLETED\n", "give it with -P"},
      {"\n==============NVSMI LOG==============\n\nTimestamp : now\n", "nvidia-smi -q: give it with -x"},
      {"-------------\nLLDP neighbors:\n-------------\n", "lldpctl: give it with -f json"}};
  for (const auto& [text, hint] : cases) {
    const Recognised recognised = recognise(text);
    EXPECT_EQ(recognised.kind, SourceKind::unknown) << text;
    EXPECT_THAT(recognised.why, HasSubstr(hint)) << text;
  }
}

TEST(SiteSources, PackedFilesAreToldToBeUnpacked) {
  const std::vector<std::pair<std::string, const char*>> cases = {{std::string("\x1f\x8b\x08\x00\x00", 5), "gzip -d"},
                                                                  {std::string("\xfd\x37zXZ\x00", 6), "xz -d"},
                                                                  {"\x28\xb5\x2f\xfd!", "zstd -d"},
                                                                  {"BZh91AY", "bzip2 -d"},
                                                                  {std::string("PK\x03\x04\x14", 5), "unzip"},
                                                                  {std::string("\xff\xfe{\x00", 4), "UTF-8"},
                                                                  {std::string(257, 'x') + "ustar  ", "tar -x"}};
  for (const auto& [text, hint] : cases) {
    const Recognised recognised = recognise(text);
    EXPECT_EQ(recognised.kind, SourceKind::unknown);
    EXPECT_THAT(recognised.why, HasSubstr(hint));
  }
}

TEST(SiteSources, NothingOfAFabricIsSaidWithWhatWasRead) {
  const auto nothing =
      import({{"pkeys.json", site_samples().at("pkeys.json")}, {"nmx.json", site_samples().at("nmx.json")}});
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().text(), AllOf(HasSubstr("pkeys.json was read as UFM's partitions"),
                                            HasSubstr("nmx.json was read as"), HasSubstr("as well")));
}

TEST(SiteSources, DumpsOfLevelsAndLanesAreTold) {
  EXPECT_EQ(
      recognise("Channel Adapter 0x1, base LID 4, \"H-1\", port 1\n# LID  : SL : MTU : RATE\n0x0001 : 2  : 4   : 3\n")
          .kind,
      SourceKind::opensm_levels);
  EXPECT_EQ(recognise("PathRecord dump:\n\t\tsl......................0x2\n").kind, SourceKind::opensm_levels);
  EXPECT_EQ(recognise("Switch 0x2, base LID 16, \"S-1\"\n#in out : 0  1  2\n#-----\n0   1   : 0  1\n").kind,
            SourceKind::opensm_lane_maps);
}

}  // namespace
}  // namespace railweave::fabric::site_sources_test
