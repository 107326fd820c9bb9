// Several sources of one site as one fabric: what each is recognised as, what each gives, and what is said where they
// contradict each other.
#include "fabric/formats/sources/site_import.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/formats/native/native_json.h"
#include "fabric/topology/locality.h"
#include "tests/unit/formats/site_import_fixture.h"

namespace railweave::fabric::site_import_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string leaf_group_of(const Topology& topology, const char* host) {
  const Locality locality = derive_locality(topology);
  const Level* level = locality.find(LevelKind::leaf_group);
  const HostId id = topology.find_host(host);
  return level == nullptr || !id ? "none" : std::to_string(level->group_of_host[id.index()]);
}

std::string said(const Topology& topology, std::string_view code) {
  const auto found = findings(topology, code);
  return found.empty() ? "" : found.front().message;
}

TEST_F(SiteImportTest, TellsEverySourceByItsContentAndSaysWhy) {
  const std::map<std::string, SourceKind> kinds = {
      {"links.txt", SourceKind::iblinkinfo},           {"ibdiagnet2.db_csv", SourceKind::ibdiagnet_csv},
      {"opensm-subnet.lst", SourceKind::opensm_links}, {"ports.json", SourceKind::ufm_ports},
      {"ufm-links.json", SourceKind::ufm_links},       {"systems.json", SourceKind::ufm_systems},
      {"pkeys.json", SourceKind::ufm_partitions},      {"leaves.gnmi.json", SourceKind::openconfig},
      {"topology.conf", SourceKind::slurm_topology},   {"topology.yaml", SourceKind::slurm_topology_yaml},
      {"nodes.json", SourceKind::slurm_nodes},         {"kubernetes.json", SourceKind::kubernetes_nodes},
      {"model.json", SourceKind::topograph_model},     {"n1.lldp.json", SourceKind::lldp},
      {"config_db.json", SourceKind::sonic_config},    {"nmx.json", SourceKind::nmx_gpus},
      {"n3.nvlink", SourceKind::nvidia_smi_nvlink},    {"n2.xml", SourceKind::nvidia_smi_query}};
  ASSERT_EQ(kinds.size(), samples_.size());
  for (const auto& [name, kind] : kinds) {
    const Recognised recognised = recognise(samples_.at(name));
    EXPECT_EQ(to_string(recognised.kind), to_string(kind)) << name;
    EXPECT_FALSE(recognised.why.empty()) << name;
  }
}

TEST_F(SiteImportTest, TakesJsonOfOtherToolsForNothing) {
  for (const char* text : {"{}", "[]", "[{\"a\":1}]", R"({"version":3,"services":{}})", R"({"nodes":[{"id":1}]})",
                           R"({"apiVersion":"v1","kind":"ConfigMapList","items":[{"kind":"ConfigMap"}]})",
                           R"({"resource":{"railweave":"x"}})", R"({"metadata":{"namespace":"railweave"}})",
                           R"({"name":"clique","dependencies":{}})", "<html/>", "hello\n", "", "a,b,c\n1,2,3\n"}) {
    const Recognised recognised = recognise(text);
    EXPECT_EQ(recognised.kind, SourceKind::unknown) << text << ": " << recognised.why;
    EXPECT_FALSE(recognised.why.empty()) << text;
  }
  EXPECT_THAT(recognise("<!DOCTYPE HTML>\n<HTML><body>Sign in</body>").why, HasSubstr("it is a web page"));
  // The service's own import takes nothing of another tool for a list of cliques either.
  EXPECT_EQ(detect_format(R"({"version":3,"services":{}})"), Format::unknown);
  EXPECT_EQ(detect_format(R"({"metadata":{"namespace":"railweave"}})"), Format::unknown);
  EXPECT_EQ(detect_format("{ \"version\": 1, \"railweave\" : \"fabric\"}"), Format::native);
}

TEST_F(SiteImportTest, AllDumpsOfOneSubnetGiveTheSameFabric) {
  for (const char* name : {"links.txt", "ibdiagnet2.db_csv", "opensm-subnet.lst", "ports.json"}) {
    const TopologyPtr t = must_import({name});
    EXPECT_EQ(count(*t), (Counts{.switches = 3, .leaves = 2, .hosts = 4, .host_ports = 4, .inter_switch_links = 2}))
        << name;
    EXPECT_EQ(t->lid(t->find_switch("leaf-2")), 2) << name;
    for (const LinkId link : t->links()) EXPECT_EQ(t->rate(link), from_gbps(400)) << name;
    EXPECT_EQ(leaf_group_of(*t, "n1"), leaf_group_of(*t, "n2")) << name;
    EXPECT_NE(leaf_group_of(*t, "n1"), leaf_group_of(*t, "n3")) << name;
    EXPECT_THAT(said(*t, "readFrom"), HasSubstr(name));
  }
}

TEST_F(SiteImportTest, SwitchesTellNeighboursAndRatesByOpenconfig) {
  const TopologyPtr t = must_import({"leaves.gnmi.json"});
  EXPECT_EQ(t->switches().size(), 3U);
  EXPECT_EQ(t->hosts().size(), 2U);
  ASSERT_TRUE(t->find_switch("leaf-1"));
  const auto rate = [&](const char* name, unsigned port) {
    return t->rate(t->link(t->ports(t->find_switch(name))[port]));
  };
  EXPECT_EQ(rate("leaf-1", 0), from_gbps(200));
  EXPECT_EQ(rate("leaf-1", 1), from_gbps(800));
  EXPECT_EQ(rate("leaf-2", 0), from_gbps(400));  // assumed
  EXPECT_EQ(t->device(t->hcas(t->find_host("n1"))[0]), "eth0");
  EXPECT_THAT(said(*t, "speedAssumed"), HasSubstr("assumed"));
  EXPECT_THAT(said(*t, "rowsLeftOut"), HasSubstr("Ethernet0"));
}

TEST_F(SiteImportTest, DumpsOfOneSubnetAreComparedAndTheFirstCounts) {
  EXPECT_TRUE(
      findings(*must_import({"links.txt", "ibdiagnet2.db_csv", "opensm-subnet.lst", "ports.json"}), "sourcesDisagree")
          .empty());
  std::string& csv = samples_["ibdiagnet2.db_csv"];
  csv.replace(csv.find("0x2,2,0xa4,1"), 12, "0x3,3,0xa4,1");
  const TopologyPtr t = must_import({"links.txt", "ibdiagnet2.db_csv"});
  EXPECT_EQ(count(*t).host_ports, 4U);
  EXPECT_NE(leaf_group_of(*t, "n4"), "none");
  EXPECT_EQ(leaf_group_of(*t, "n4"), leaf_group_of(*t, "n3"));
  EXPECT_EQ(findings(*t, "sourcesDisagree").size(), 2U);
  EXPECT_THAT(said(*t, "sourcesDisagree"), HasSubstr("ibdiagnet2.db_csv has 1 cable that links.txt has not"));
}

TEST_F(SiteImportTest, GroupsOfSlurmAloneAreAFabric) {
  for (const char* groups : {"topology.conf", "topology.yaml"}) {
    const TopologyPtr t = must_import({groups, "nodes.json"});
    EXPECT_EQ(t->switches().size(), 3U) << groups;
    EXPECT_EQ(t->hosts().size(), 4U);
    EXPECT_EQ(t->gpus(t->find_host("n1")).size(), 8U);
    EXPECT_EQ(t->gpus(t->find_host("n3")).size(), 8U);
    EXPECT_EQ(t->gpus(t->find_host("n4")).size(), 0U);
    EXPECT_EQ(leaf_group_of(*t, "n1"), leaf_group_of(*t, "n2"));
    EXPECT_NE(leaf_group_of(*t, "n1"), leaf_group_of(*t, "n4"));
    EXPECT_FALSE(said(*t, "tiersWithoutCables").empty());
    EXPECT_THAT(said(*t, "speedAssumed"), HasSubstr("assumed"));
    const std::string native = write_native_json(*t);
    EXPECT_THAT(native, HasSubstr(R"("from/gpus":"nodes.json")"));
    EXPECT_EQ(write_native_json(must_read(native)), native);
  }
}

TEST_F(SiteImportTest, LabelsOfKubernetesAreTiersAndDomains) {
  const TopologyPtr t = must_import({"kubernetes.json"});
  EXPECT_EQ(t->gpus().size(), 12U);
  const auto domain = [&](const char* host) { return t->nvlink_domain(*t->gpus(t->find_host(host)).begin()); };
  EXPECT_EQ(domain("n1"), domain("n2"));
  EXPECT_NE(domain("n1"), domain("n3"));
  EXPECT_NE(leaf_group_of(*t, "n1"), leaf_group_of(*t, "n3"));
  const std::vector<std::pair<std::string, std::string>> families = {
      {"network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine"},
      {"topology.k8s.aws/network-node-layer-3", "topology.k8s.aws/network-node-layer-2"},
      {"cloud.google.com/gce-topology-subblock", "cloud.google.com/gce-topology-block"},
      {"oci.oraclecloud.com/rdma.local_block_id", "oci.oraclecloud.com/rdma.network_block_id"},
      {"cloud.provider.com/topology-rack", "cloud.provider.com/topology-block"}};
  const std::string plain = samples_["kubernetes.json"];
  for (const auto& [near, far] : families) {
    std::string text = plain;
    for (const auto& [from, to] : {std::pair<std::string, std::string>("fabric.topograph.run/tier-0", near),
                                   {"fabric.topograph.run/tier-1", far}}) {
      for (auto at = text.find(from); at != std::string::npos; at = text.find(from)) text.replace(at, from.size(), to);
    }
    samples_["kubernetes.json"] = text;
    const TopologyPtr cloud = must_import({"kubernetes.json"});
    EXPECT_EQ(leaf_group_of(*cloud, "n1"), leaf_group_of(*cloud, "n2")) << near;
    EXPECT_NE(leaf_group_of(*cloud, "n1"), leaf_group_of(*cloud, "n3")) << near;
  }
}

TEST_F(SiteImportTest, AModelOfTopographIsAFabric) {
  const TopologyPtr t = must_import({"model.json"}, {.gpus_per_node = 4});
  EXPECT_EQ(t->hosts().size(), 4U);
  EXPECT_EQ(t->gpus().size(), 16U);
  const auto domain = [&](const char* host) { return t->nvlink_domain(*t->gpus(t->find_host(host)).begin()); };
  EXPECT_EQ(domain("n3"), domain("n4"));
  EXPECT_NE(domain("n1"), domain("n2"));
  EXPECT_NE(leaf_group_of(*t, "n1"), leaf_group_of(*t, "n3"));
}

TEST_F(SiteImportTest, NeighboursAndConfigurationsAreEthernetCables) {
  const TopologyPtr t = must_import({"config_db.json", "n1.lldp.json", "n2.xml"});
  EXPECT_EQ(t->switches().size(), 3U);
  EXPECT_EQ(t->hosts().size(), 1U);
  EXPECT_EQ(count(*t).host_ports, 2U);
  const SwitchId leaf = t->find_switch("leaf-1");
  ASSERT_TRUE(leaf);
  EXPECT_EQ(t->ports(leaf).size(), 2U);
  EXPECT_EQ(t->rate(t->link(t->ports(leaf)[0])), from_gbps(400));
  EXPECT_EQ(t->rate(t->link(t->ports(leaf)[1])), from_gbps(800));
  EXPECT_THAT(said(*t, "speedAssumed"), HasSubstr("1 cable"));
  EXPECT_THAT(said(*t, "hostNotCabled"), HasSubstr("n2"));
}

// `lldpctl -f json0`: lists everywhere, however many interfaces there are.
TEST_F(SiteImportTest, BothFormsOfLldpctlTellTheSame) {
  const std::string before = write_native_json(*must_import({"config_db.json", "n1.lldp.json"}));
  samples_["n1.lldp.json"] =
      R"({"lldp":[{"interface":[{"name":"eth0","via":"LLDP","rid":"1","age":"0 day, 00:01:00","chassis":[{"id":[{"type":)"
      R"("mac","value":"00:01"}],"name":[{"value":"leaf-1"}],"descr":[{"value":"SONiC"}],"capability":[{"type":"Bridge",)"
      R"("enabled":true},{"type":"Wlan","enabled":false}]}],"port":[{"id":[{"type":"ifname","value":"Ethernet0"}],)"
      R"("descr":[{"value":"x"}]}]},{"name":"eth1","chassis":[{"name":[{"value":"leaf-2"}],"capability":[{"type":"Bridge",)"
      R"("enabled":true}]}],"port":[{"id":[{"type":"mac","value":"00:02"}],"descr":[{"value":"Ethernet0"}]}]}]}]})";
  EXPECT_EQ(write_native_json(*must_import({"config_db.json", "n1.lldp.json"})), before);
}

TEST_F(SiteImportTest, ARefusalSaysWhatWasNotUsed) {
  samples_["topology.conf"] = "SwitchName=s1 Nodes=n[1-99999999]\n";
  const auto none = import({"topology.conf"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, AllOf(HasSubstr("with nodes"), HasSubstr("not used was topology.conf: line 1")));
}

TEST_F(SiteImportTest, GroupsWithoutHostsAreRefusedWithWhatWasNotUsed) {
  samples_["topology.conf"] =
      "SwitchName=s1 Switches=s2\nSwitchName=s2 Switches=s1\nSwitchName=s3 Nodes=n[1-99999999]\n";
  const auto none = import({"topology.conf"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message,
              AllOf(HasSubstr("was read as Slurm's topology.conf"), HasSubstr("not used was topology.conf: line 3")));
}

TEST_F(SiteImportTest, ItemsOfKubernetesThatAreNoNodesAreNamed) {
  samples_["kubernetes.json"] =
      R"({"kind":"NodeList","items":[{"kind":"Node","metadata":{"name":"n1"},"status":{"capacity":{"nvidia.com/gpu":"8k"}}},)"
      R"(7,{"kind":"Node","metadata":null},{"kind":"Pod","metadata":{"name":"p"}}]})";
  EXPECT_THAT(findings(*must_import({"kubernetes.json"}), "rowsLeftOut").front().objects,
              ElementsAre("n1: no number of GPUs: 8k", "item 2: it is no node", "item 3: it has no name",
                          "item 4: it is no node"));
}

TEST_F(SiteImportTest, ASourceThatContradictsItselfIsNamedOnce) {
  samples_["topology.conf"] = "SwitchName=s1 Nodes=n[1-2]\nBlockName=b1 Nodes=n[1-2]\n";
  EXPECT_THAT(
      said(*must_import({"topology.conf"}), "sourcesDisagree"),
      HasSubstr("topology.conf tells different things in the nearest groups of 2 hosts (n1: s1 and b1); what it "
                "tells first counts"));
}

TEST_F(SiteImportTest, FactsOfHostsCompleteACabledFabric) {
  samples_["n1.xml"] = samples_["n2.xml"];
  const TopologyPtr t = must_import({"links.txt", "nodes.json", "n1.xml"});
  EXPECT_EQ(t->gpus().size(), 24U);
  EXPECT_EQ(t->switches().size(), 3U);
  EXPECT_THAT(said(*t, "sourcesDisagree"),
              HasSubstr("nodes.json and n1.xml contradict each other in the GPUs of 1 host (n1: 8 and 2)"));
}

// Hosts by their drivers' GUIDs (161 is 0xa1), domains by the controller's partitions.
TEST_F(SiteImportTest, ControllersOfDomainsTellWhichHostsShareNvlink) {
  for (const char* n : {"1", "2", "3", "4"})
    samples_["n" + std::string(n) + ".xml"] = tray_query("0xa" + std::string(n));
  const std::vector<std::string> sources{"links.txt", "nmx.json", "n1.xml", "n2.xml", "n3.xml", "n4.xml"};
  const auto by = [&](const TopologyPtr& t, const char* host) {
    return t->nvlink_domain(*t->gpus(t->find_host(host)).begin());
  };
  for (const bool as_protocol : {false, true}) {
    if (as_protocol) {
      std::string& text = samples_["nmx.json"];
      for (const auto& [from, to] : {std::pair{"serverHeader", "server_header"},
                                     {"domainUuid", "domain_uuid"},
                                     {"returnCode", "return_code"},
                                     {"gpuInfoList", "gpu_info_list"},
                                     {"gpuUid", "gpu_uid"},
                                     {"gpuHealth", "gpu_health"},
                                     {"partitionId", "partition_id"},
                                     {R"("161")", "161"}})
        for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; ++at)
          text.replace(at, std::strlen(from), to);
    }
    const TopologyPtr t = must_import(sources);
    EXPECT_EQ(t->gpus().size(), 4U);
    EXPECT_EQ(by(t, "n1"), by(t, "n2"));
    EXPECT_NE(by(t, "n1"), by(t, "n3"));
    EXPECT_NE(by(t, "n1"), by(t, "n4"));
    const auto left_out = findings(*t, "rowsLeftOut");
    ASSERT_EQ(left_out.size(), 1U);
    EXPECT_THAT(left_out.front().message, HasSubstr("nmx.json: 2 rows were not used"));
    EXPECT_THAT(left_out.front().objects, Contains(HasSubstr("n4, GPU 0x00000000000000a4")));
    EXPECT_THAT(left_out.front().objects, Contains(HasSubstr("chassis 1821, slot 17")));
  }
  // The driver of n3 tells another clique than the controller its partition.
  samples_["n3.xml"].insert(
      samples_["n3.xml"].find("</gpu>"),
      "<fabric><cliqueId>5</cliqueId><clusterUuid>9f1c6d53-5d9f-4a0f-8f30-1a2b3c4d5e6f</clusterUuid></fabric>");
  EXPECT_THAT(said(*must_import(sources), "sourcesDisagree"),
              HasSubstr("contradict each other in the NVLink domains of 1 host"));
}

TEST_F(SiteImportTest, LinksOfGpusGiveRatesAndWhichAreDown) {
  const TopologyPtr t = must_import({"links.txt", "n3.nvlink"});
  EXPECT_EQ(t->gpus().size(), 2U);
  const auto domain = t->nvlink_domain(*t->gpus(t->find_host("n3")).begin());
  ASSERT_TRUE(domain);
  EXPECT_EQ(t->rate_per_gpu(domain), from_gbps(4 * 200)) << "26.562 GB/s are 25 and encoding";
  EXPECT_THAT(said(*t, "nvlinksDown"),
              HasSubstr("1 GPU has fewer NVLinks up than others of the machine: n3, GPU 1: 3 of 4"));
  EXPECT_TRUE(findings(*t, "nvlinkAssumed").empty());
  // Machines without NVLink.
  std::string& text = samples_["n3.nvlink"];
  text = nvlink_status();
  for (std::size_t at = 0; (at = text.find("26.562 GB/s", at)) != std::string::npos;)
    text.replace(at, 11, "<inactive>");
  const TopologyPtr none = must_import({"links.txt", "n3.nvlink"});
  EXPECT_EQ(none->gpus().size(), 2U);
  EXPECT_FALSE(none->nvlink_domain(*none->gpus(none->find_host("n3")).begin()));
  EXPECT_TRUE(findings(*none, "nvlinksDown").empty());
  text = nvlink_status("26,562 GB/s");
  const auto refused = import({"links.txt", "n3.nvlink"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(),
              AllOf(HasSubstr("n3.nvlink: line 10"), HasSubstr("neither a rate in GB/s nor <inactive>")));
}

TEST_F(SiteImportTest, AnswersOfControllersThatTellNoGpusAreRefused) {
  std::string& text = samples_["nmx.json"];
  const std::string good = text;
  const auto error_with = [&](const std::string& from, const std::string& to) {
    text = good;
    text.replace(text.find(from), from.size(), to);
    const auto done = import({"nmx.json", "n2.xml"});
    return done ? std::string("read") : done.error().code + ": " + done.error().text();
  };
  EXPECT_THAT(error_with("NMX_ST_SUCCESS", "NMX_ST_NOT_READY"), HasSubstr("the controller answered NMX_ST_NOT_READY"));
  EXPECT_THAT(error_with("domainUuid", "domain"), StartsWith("nmx.noDomain"));
  EXPECT_THAT(error_with(R"("gpuUid":"162")", R"("gpuUid":"-2")"), HasSubstr("'-2' is not a whole number"));
  text = R"({"serverHeader":{"domainUuid":"u","returnCode":"NMX_ST_SUCCESS"},"gpuInfoList":[]})";
  EXPECT_EQ(import({"nmx.json"}).error().code, "nmx.noGpu");
  const Recognised topology = recognise(R"({"serverHeader":{"domainUuid":"u"},"deviceTopoInfo":[{}]})");
  EXPECT_EQ(topology.kind, SourceKind::unknown);
  EXPECT_THAT(topology.why, HasSubstr("GetGpuInfoList"));
}

TEST_F(SiteImportTest, GroupsThatCablesContradictAreFound) {
  samples_["topology.conf"] = "SwitchName=a Nodes=n[1,3]\nSwitchName=b Nodes=n[2,4]\n";
  const TopologyPtr t = must_import({"links.txt", "topology.conf"});
  EXPECT_EQ(findings(*t, "groupNotNear").size(), 2U);
  EXPECT_THAT(said(*t, "groupNotNear"),
              HasSubstr("a is one group of 2 hosts to topology.conf, and by its cables 2 leaf groups"));
  EXPECT_TRUE(findings(*must_import({"links.txt", "nodes.json"}), "groupNotNear").empty());
}

TEST_F(SiteImportTest, RowsThatCannotBeUsedAreNamed) {
  samples_["topology.conf"] += "SwitchName=broken Nodes=n[5-\nNonsense\n";
  const TopologyPtr t = must_import({"topology.conf", "nodes.json"});
  const auto left_out = findings(*t, "rowsLeftOut");
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_THAT(left_out.front().message, HasSubstr("topology.conf: 2 rows were not used: line 5, broken"));
  EXPECT_THAT(left_out.front().objects, Contains(HasSubstr("line 6")));
}

TEST_F(SiteImportTest, WhatCannotBeReadIsSaidWithItsPlace) {
  samples_["nodes.json"] = R"({"nodes":[{"gres":"gpu:8","name":"n1"},)"
                           "\n"
                           R"({"name":7e}]})";
  const auto broken = import({"nodes.json"});
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().location, HasSubstr("nodes.json: line 2"));
  const auto nothing = import({});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, "site.nothing");
}

// Cut off and garbled anywhere: a fabric or an error with a place, never more.
TEST_F(SiteImportTest, BrokenInputsAreReadOrRefused) {
  std::mt19937_64 random(20261126);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  for (const auto& [name, text] : site_samples()) {
    for (int round = 0; round < 120; ++round) {
      std::string broken = text;
      if (round % 2 == 0) broken.resize(below(broken.size()));
      for (std::size_t i = 0; i < below(6) && !broken.empty(); ++i) {
        const std::size_t at = below(broken.size());
        if (below(2) == 0) {
          broken[at] = static_cast<char>(below(256));
        } else {
          broken.erase(at, below(40));
        }
      }
      std::vector<SiteSource> sources{{name, device_of_file(name), "", recognise(text), broken}};
      const auto imported = import_site(sources, {});
      if (imported) {
        EXPECT_FALSE(write_native_json(*imported->topology).empty());
      } else {
        EXPECT_FALSE(imported.error().message.empty()) << name;
      }
      (void)recognise(broken);
    }
  }
}

TEST(SiteFiles, ADeviceIsNamedByItsFile) {
  EXPECT_EQ(device_of_file("dumps/leaf-1.lldp.json"), "leaf-1");
  EXPECT_EQ(device_of_file("dgx-001.xml"), "dgx-001");
  EXPECT_EQ(device_of_file(".json"), ".json");
}

// Real dumps, where they are: recognised as what they are.
TEST(RealSources, AreRecognised) {
  const auto dumps = shared_files("ib");
  if (dumps.empty()) GTEST_SKIP() << "the real files ib/* are not on this machine";
  for (const auto& file : dumps)
    EXPECT_EQ(recognise(shared_file(file).value()).kind, SourceKind::ibnetdiscover) << file;
  for (const auto& file : shared_files("sonic")) {
    if (!file.ends_with(".json")) continue;
    EXPECT_EQ(recognise(shared_file(file).value()).kind, SourceKind::unknown) << file;
  }
  for (const auto& file : shared_files("collectives")) {
    EXPECT_EQ(recognise(shared_file(file).value()).kind, SourceKind::unknown) << file;
  }
}

}  // namespace
}  // namespace railweave::fabric::site_import_test
