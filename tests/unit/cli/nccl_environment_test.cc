// What `railweave assess` finds in the environments of jobs: lists of devices as NCCL reads them, against an oracle that
// knows names alone, and whole reports on files as env, Slurm and Kubernetes write them.
#include <random>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/assess/nccl_names.h"
#include "services/railweave/terminal/json.h"
#include "tests/unit/cli/stub_service.h"
#include "tests/unit/formats/site_samples.h"

namespace railweave::cli {
namespace nccl_environment_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Json report_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"assess", "--json"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Finished finished = run_railweave(all);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  return parse_json(finished.out).value_or(Json());
}

// Those of environments alone.
std::vector<Json> findings_of(const Json& report) {
  std::vector<Json> found;
  for (const Json& finding : list(report, "findings")) {
    if (text_of(finding, "code").starts_with("nccl")) found.push_back(finding);
  }
  return found;
}

std::vector<std::string> codes_of(const Json& report) {
  std::vector<std::string> codes;
  for (const Json& finding : findings_of(report)) codes.push_back(text_of(finding, "code"));
  return codes;
}

// Two hosts of eight adapters, each on a leaf of its rail, and an adapter for storage.
std::string rails() {
  static const std::string path = [] {
    const std::string made = scratch_path("nccl-rails.json");
    EXPECT_EQ(run_railweave({"lab", "generate", "rail-optimized", "--hosts", "4", "-O", made}).exit_code, 0);
    return made;
  }();
  return path;
}

std::vector<std::string> hosts_of_rails() {
  std::vector<std::string> names;
  const Finished finished = run_railweave({"fabric", "import", rails(), "-O", "-"});
  const auto fabric = parse_json(finished.out);
  if (fabric) {
    for (const Json& host : list(*fabric, "hosts")) names.push_back(text_of(host, "name"));
  }
  return names;
}

std::string env_of(const std::string& job, const std::vector<std::string>& hosts, const std::string& nccl) {
  std::string nodes;
  for (const std::string& host : hosts) nodes += (nodes.empty() ? "" : ",") + host;
  return "SHELL=/bin/bash\nSLURM_JOB_ID=" + job + "\nSLURM_JOB_NODELIST=" + nodes + "\nPATH=/usr/bin:/bin\n" + nccl +
         "BASH_FUNC_module%%=() {  eval `modulecmd bash $*`\n}\n_=/usr/bin/env\n";
}

Json judged(const std::string& nccl) {
  return report_of({rails(), scratch_file("judged.env", env_of("7", hosts_of_rails(), nccl))});
}

// NCCL's rule in another form: one regular expression for each entry.
bool oracle_admits(const std::string& text, const std::string& device, unsigned port) {
  std::smatch parts;
  std::regex_match(text, parts, std::regex(R"((\^?)(=?)(.*))"));
  const std::string entries = parts[3].str();
  bool any = false, hit = false;
  const std::regex entry(R"(([^,:]+)(:(\d*)[^,]*)?)");
  for (auto at = std::sregex_iterator(entries.begin(), entries.end(), entry); at != std::sregex_iterator(); ++at) {
    any = true;
    const std::string pattern = (*at)[1].str() + (parts[2].length() > 0 ? "" : ".*");
    const std::string wanted = (*at)[3].str();
    hit = hit || (std::regex_match(device, std::regex(pattern)) && (wanted.empty() || std::stoul(wanted) == port));
  }
  return !any || hit != (parts[1].length() > 0);
}

TEST(NcclNames, AgreeWithAnOracleOnRandomLists) {
  std::mt19937_64 random(11);
  const auto below = [&](unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random); };
  std::size_t admitted = 0, asked = 0;
  for (int round = 0; round < 120; ++round) {
    std::string text = std::string(below(3) == 0 ? "^" : "") + (below(2) == 0 ? "=" : "");
    const unsigned entries = below(4);
    for (unsigned i = 0; i < entries; ++i) {
      text += std::string(i > 0 ? "," : "") + (below(5) == 0 ? "mlx5" : "mlx5_" + std::to_string(below(13)));
      if (below(3) == 0) text += ":" + std::to_string(1 + below(2));
      if (below(6) == 0) text += text.find(':') == std::string::npos ? "::0:1" : "";
    }
    for (unsigned device = 0; device < 13; ++device) {
      for (unsigned port = 1; port <= 2; ++port) {
        const std::string name = "mlx5_" + std::to_string(device);
        const bool admits = read_nccl_names(text, true).admits(name, port);
        ASSERT_EQ(admits, oracle_admits(text, name, port)) << text << " of " << name << ":" << port;
        admitted += admits ? 1 : 0;
        ++asked;
      }
    }
  }
  EXPECT_GT(admitted, asked / 10);
  EXPECT_LT(admitted, asked * 9 / 10);
}

TEST(NcclEnvironment, FindsNothingWhereNothingIsWrong) {
  EXPECT_THAT(codes_of(judged("")), IsEmpty());
  EXPECT_THAT(codes_of(judged("NCCL_DEBUG=INFO\nNCCL_DEBUG_SUBSYS=ALL\nNCCL_IB_DISABLE=0\nNCCL_P2P_DISABLE=0\n"
                              "NCCL_CROSS_NIC=0\nNCCL_IB_HCA=mlx5\nNCCL_IB_TIMEOUT=22\nNCCL_IB_SL=3\n"
                              "NCCL_SOCKET_IFNAME=^lo,docker\nNCCL_ALGO=\nNCCL_NET_GDR_LEVEL=PHB\n")),
              IsEmpty());
}

TEST(NcclEnvironment, JudgesListsOfAdaptersByTheRailsThatHostsHave) {
  const Json one = judged("NCCL_IB_HCA==mlx5_0\n");
  ASSERT_THAT(codes_of(one), ElementsAre("ncclRailsLeftOut"));
  const Json finding = findings_of(one).front();
  EXPECT_EQ(text_of(finding, "title"), "NCCL_IB_HCA==mlx5_0 uses 1 of 8 adapter ports");
  EXPECT_THAT(text_of(finding, foreign("action")), HasSubstr("NCCL_IB_HCA==mlx5_0,mlx5_1,"));
  EXPECT_THAT(text_of(finding, "cost"), HasSubstr("on 4 hosts"));
  EXPECT_THAT(text_of(finding, foreign("command")), HasSubstr("srun --jobid=7 --overlap"));
  EXPECT_THAT(codes_of(judged("NCCL_IB_HCA=mlx5_77\n")), ElementsAre("ncclNoAdapter"));
  EXPECT_THAT(codes_of(judged("NCCL_IB_HCA=^mlx5\n")), ElementsAre("ncclNoAdapter"));
  EXPECT_THAT(codes_of(judged("NCCL_IB_HCA=mlx5:2\n")), ElementsAre("ncclNoAdapter"));
  EXPECT_THAT(codes_of(judged("NCCL_IB_HCA=^=mlx5_3\n")), ElementsAre("ncclRailsLeftOut"));
}

// Two hosts with two adapters for jobs and a third one, on a network of the given kind.
std::string three_adapters(const std::string& kind) {
  std::string text =
      R"({"railweave":"fabric","version":1,"subnets":[{"name":"jobs","kind":"compute"},{"name":"third","kind":")" +
      kind + R"("}],"switches":[)" + R"({"guid":"0000000000000a10","name":"leaf-1","ports":4,"subnet":"jobs"},)" +
      R"({"guid":"0000000000000a20","name":"leaf-2","ports":4,"subnet":"jobs"},)" +
      R"({"guid":"0000000000000a30","name":"leaf-3","ports":4,"subnet":"third"}],"hosts":[)";
  for (const char* host : {"1", "2"}) {
    text += std::string(host[0] == '1' ? "" : ",") + R"({"name":"n)" + host + R"(","adapters":[)";
    for (const char* device : {"0", "1", "10"}) {
      text += std::string(device[0] == '0' ? "" : ",") + R"({"guid":"00000000000)" + (device[1] == '0' ? "c" : device) +
              host + R"(000","device":"mlx5_)" + device + R"(","ports":[{}]})";
    }
    text += R"(],"gpus":[{},{}]})";
  }
  return text + R"(],"linkSpecs":[{"speed":"NDR","width":4}],"links":[[0,1,3,1,0],[1,1,4,1,0],[2,1,5,1,0],)" +
         "[0,2,6,1,0],[1,2,7,1,0],[2,2,8,1,0]]}";
}

TEST(NcclEnvironment, KeepsAdaptersOfStorageAndNamesByChanceApart) {
  const std::string storage = scratch_file("storage.json", three_adapters("storage"));
  const auto with = [](const std::string& fabric, const std::string& nccl) {
    return codes_of(report_of({fabric, scratch_file("third.env", env_of("7", {"n1", "n2"}, nccl))}));
  };
  EXPECT_THAT(with(storage, "NCCL_IB_HCA==mlx5_0,mlx5_1\n"), IsEmpty());
  EXPECT_THAT(with(storage, "NCCL_IB_HCA=mlx5_0,mlx5_1\n"), ElementsAre("ncclOtherAdapters"));
  EXPECT_THAT(with(storage, "NCCL_IB_HCA=mlx5_1\n"), ElementsAre("ncclRailsLeftOut", "ncclOtherAdapters"));
  EXPECT_THAT(with(storage, ""), ElementsAre("ncclAdaptersNotNamed"));
  EXPECT_THAT(codes_of(report_of({storage, scratch_file("hca.conf", "NCCL_IB_HCA==mlx5_0,mlx5_1\n"),
                                  scratch_file("third.env", env_of("7", {"n1", "n2"}, ""))})),
              IsEmpty());
  const std::string compute = scratch_file("compute.json", three_adapters("compute"));
  EXPECT_THAT(with(compute, "NCCL_IB_HCA=mlx5_0,mlx5_1\n"), ElementsAre("ncclNamesByChance"));
  EXPECT_THAT(with(compute, ""), IsEmpty());
}

TEST(NcclEnvironment, SaysWhatWasLeftOnAndWhatThatCosts) {
  const Json report = judged(
      "NCCL_IB_DISABLE=1\nNCCL_P2P_DISABLE=1\nNCCL_SHM_DISABLE=1\nNCCL_NET_GDR_LEVEL=LOC\nNCCL_CROSS_NIC=1\n"
      "NCCL_ALGO=Ring\nNCCL_PROTO=LL128\nNCCL_IB_TIMEOUT=0\nNCCL_IB_SL=16\nNCCL_SOCKET_IFNAME=lo\n");
  EXPECT_THAT(codes_of(report), testing::UnorderedElementsAre(
                                    "ncclOverSockets", "ncclWithoutPeerToPeer", "ncclWithoutSharedMemory",
                                    "ncclWithoutGpuDirect", "ncclCrossesRails", "ncclChoicePinned", "ncclChoicePinned",
                                    "ncclWaitsForever", "ncclMarkImpossible", "ncclInterfaceLocal"));
  for (const Json& finding : findings_of(report)) {
    for (const char* part : {"sure", "cost", "action", "command", "title"}) {
      EXPECT_GT(text_of(finding, foreign(part)).size(), 1U) << finding;
    }
    EXPECT_THAT(finding["objects"], ElementsAre(Json("job 7")));
  }
  const Json sockets = *std::ranges::find_if(report["findings"],
                                             [](const Json& finding) { return finding["code"] == "ncclOverSockets"; });
  EXPECT_EQ(sockets["severity"], "error");
  EXPECT_THAT(text_of(sockets, "cost"), HasSubstr("each host has 3200 Gb/s of adapters for RDMA"));
}

TEST(NcclEnvironment, AJobOfOneHostMaySwitchItsNetworkOff) {
  const std::string env =
      env_of("8", {hosts_of_rails().front()}, "NCCL_IB_DISABLE=1\nNCCL_CROSS_NIC=1\nNCCL_IB_SL=99\n");
  EXPECT_THAT(codes_of(report_of({rails(), scratch_file("single.env", env)})), IsEmpty());
}

TEST(NcclEnvironment, JudgesMarksByTheClassesOfTheSite) {
  const std::string classes =
      scratch_file("classes.json",
                   R"({"items":[{"name":"latency","sharePermille":300,"priority":0,"bound":"latency","lossless":true,)"
                   R"("dscp":46,"open":false},{"name":"rest","sharePermille":600,"priority":1,"bound":"bandwidth",)"
                   R"("lossless":false,"dscp":0,"open":true}],"version":0})");
  const auto with = [&](const std::string& nccl) {
    return report_of({rails(), scratch_file("marks.env", env_of("7", hosts_of_rails(), nccl)), "--classes", classes});
  };
  EXPECT_THAT(codes_of(with("NCCL_IB_SL=1\nNCCL_IB_TC=184\n")), IsEmpty());
  EXPECT_THAT(codes_of(with("NCCL_IB_SL=0\nNCCL_IB_TC=186\n")), IsEmpty());
  const Json wrong = with("NCCL_IB_SL=5\nNCCL_IB_TC=106\n");
  ASSERT_THAT(codes_of(wrong), ElementsAre("ncclClassUnknown", "ncclClassUnknown"));
  EXPECT_THAT(text_of(findings_of(wrong)[0], foreign("action")), HasSubstr("1 latency, 0 rest"));
  EXPECT_THAT(text_of(findings_of(wrong)[1], foreign("action")), HasSubstr("184 latency, 0 rest"));
}

TEST(NcclEnvironment, InterfacesAreThoseThatLldpTellsOf) {
  const fabric::Samples& samples = fabric::site_samples();
  const std::string lldp = scratch_file("n1.lldp.json", samples.at("n1.lldp.json"));
  const auto with = [&](const std::string& nccl) {
    return codes_of(report_of({lldp, scratch_file("n1.env", "PATH=/bin\nHOSTNAME=n1.example\n" + nccl)}));
  };
  EXPECT_THAT(with("NCCL_SOCKET_IFNAME=bond7\n"), ElementsAre("ncclInterfaceUnknown"));
  EXPECT_THAT(with("NCCL_SOCKET_IFNAME=mlx5_0,mlx5_1\n"), ElementsAre("ncclInterfaceUnknown"));
  EXPECT_THAT(with("NCCL_SOCKET_IFNAME=e\n"), IsEmpty());
}

TEST(NcclEnvironment, ReadsPodsAndDoesNotJudgeWhatItCannotKnow) {
  const auto pod = [](const std::string& name, const std::string& node, const std::string& env) {
    return R"({"kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"ml","labels":{)" +
           R"("batch.kubernetes.io/job-name":"big"}},"spec":{"nodeName":")" + node + R"(","containers":[{"env":[)" +
           env + R"(],"resources":{"limits":{"nvidia.com/gpu":"8"}}}]},"status":{"phase":"Running"}})";
  };
  const std::string off = R"({"name":"NCCL_IB_DISABLE","value":"1"})";
  const std::string elsewhere =
      R"({"name":"NCCL_IB_HCA","valueFrom":{"fieldRef":{"fieldPath":"metadata.annotations['a']"}}},)"
      R"x({"name":"NCCL_PROTO","value":"$(PROTOCOLS)"},{"name":"OTHER","value":"1"})x";
  const auto hosts = hosts_of_rails();
  const std::string pods = R"({"apiVersion":"v1","kind":"List","items":[)" + pod("big-0", hosts[0], off) + "," +
                           pod("big-1", hosts[1], off) + "," + pod("big-2", hosts[2], elsewhere) + "]}";
  const Json report = report_of({rails(), scratch_file("nccl-pods.json", pods)});
  ASSERT_THAT(codes_of(report), ElementsAre("ncclOverSockets"));
  const Json finding = findings_of(report).front();
  EXPECT_THAT(finding["objects"], ElementsAre(Json("ml/big")));
  EXPECT_EQ(text_of(finding, foreign("command")), "kubectl exec -n ml big-0 -- env | grep ^NCCL_");
  const Json& environments = report["sections"]["environment"]["environments"];
  ASSERT_EQ(environments.size(), 2U);
  EXPECT_EQ(environments[0]["hosts"].size(), 2U);
  EXPECT_THAT(environments[1]["unknown"], ElementsAre(Json("NCCL_IB_HCA"), Json("NCCL_PROTO")));
}

TEST(NcclEnvironment, ReadsScriptsNcclConfAndProc) {
  const std::string script =
      scratch_file("train.sh",
                   "#!/bin/bash\n#SBATCH -N 2\nexport NCCL_IB_DISABLE=1 NCCL_DEBUG=\"WARN\"  # later\n"
                   "export NCCL_ALGO='Tree'; unset NCCL_ALGO\nunset NCCL_ALGO\n"
                   "  export NCCL_IB_HCA=$HCAS\nsrun python train.py\n");
  const Json of_script = report_of({rails(), script});
  EXPECT_THAT(codes_of(of_script), ElementsAre("ncclOverSockets"));
  const Json& environment = of_script["sections"]["environment"]["environments"][0];
  EXPECT_EQ(environment["variables"].size(), 2U) << environment;
  EXPECT_EQ(environment["variables"]["NCCL_DEBUG"], "WARN");
  const std::string conf = scratch_file("nccl.conf", "# site\nNCCL_PROTO=Simple\n");
  EXPECT_THAT(codes_of(report_of({rails(), conf})), ElementsAre("ncclChoicePinned"));
  const std::string proc = scratch_file("environ", std::string("TERM=xterm\0HOSTNAME=x\0NCCL_SHM_DISABLE=1\0", 41));
  EXPECT_THAT(codes_of(report_of({rails(), proc})), ElementsAre("ncclWithoutSharedMemory"));
}

TEST(NcclEnvironment, ATopologyFileIsMissedWhereThePciTreeIsVirtual) {
  const std::string written = scratch_file(
      "nd-topo.xml",
      R"(<system version="1"><cpu numaid="0"><pci busid="0001:00:00.0" class="0x030200"/></cpu></system>)");
  const auto with = [&](const std::string& nccl) {
    return codes_of(report_of({rails(), written, scratch_file("vm.env", env_of("7", hosts_of_rails(), nccl))}));
  };
  EXPECT_THAT(with(""), ElementsAre("ncclTopologyMissing"));
  EXPECT_THAT(with("NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml\n"), IsEmpty());
  const auto of_type = [&](const std::string& type) {
    const std::string nodes = scratch_file(
        "typed-nodes.json", R"({"apiVersion":"v1","kind":"List","items":[{"kind":"Node","metadata":{"name":"node-2",)"
                            R"("labels":{"node.kubernetes.io/instance-type":")" +
                                type + R"("}}}]})");
    return codes_of(report_of({rails(), nodes, scratch_file("vm.env", env_of("7", hosts_of_rails(), ""))}));
  };
  EXPECT_THAT(of_type("Standard_ND96isr_H100_v5"), ElementsAre("ncclTopologyMissing"));
  EXPECT_THAT(of_type("BM.GPU.H100.8"), IsEmpty());
}

TEST(NcclEnvironment, EqualMistakesOfJobsAreOneFinding) {
  const auto hosts = hosts_of_rails();
  const std::string one = scratch_file("one.env", env_of("1", {hosts[0], hosts[1]}, "NCCL_ALGO=Ring\n"));
  const std::string two = scratch_file("two.env", env_of("2", {hosts[2], hosts[3]}, "NCCL_ALGO=Ring\n"));
  const Json report = report_of({rails(), one, two});
  ASSERT_THAT(codes_of(report), ElementsAre("ncclChoicePinned"));
  EXPECT_THAT(findings_of(report).front()["objects"], ElementsAre(Json("job 1"), Json("job 2")));
}

}  // namespace
}  // namespace nccl_environment_test
}  // namespace railweave::cli
