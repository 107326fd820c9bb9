// `railweave fabric import -o FILE` and `railweave assess` offline, on small files as a site's tools write them, and on
// real dumps.
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/terminal/json.h"
#include "tests/unit/cli/stub_service.h"
#include "tests/unit/formats/site_samples.h"

namespace railweave::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSqueue = R"({"jobs":[
{"job_id":7,"name":"train","user_name":"ada","job_state":["RUNNING"],"nodes":"n[1,3,2,4]","tres_alloc_str":"cpu=4,gres/gpu=32,node=4"},
{"job_id":8,"name":"eval","user_name":"bob","job_state":["RUNNING"],"nodes":"n[1,3]","tres_alloc_str":"gres/gpu:h100=16"},
{"job_id":9,"name":"next","user_name":"bob","job_state":["PENDING"],"nodes":""},
{"job_id":10,"name":"odd","user_name":"bob","job_state":"RUNNING","nodes":"n[1-"}],"last_update":{"number":1}})";

constexpr const char* kSacct =
    "JobID|User|Submit|Start|End|State|AllocTRES|NNodes|NodeList\n"
    "1|ada|2026-11-01T10:00:00|2026-11-01T10:30:00|2026-11-01T18:00:00|COMPLETED|cpu=8,gres/gpu=16,node=2|2|n[1,3]\n"
    "1.batch|ada|2026-11-01T10:00:00|2026-11-01T10:30:00|2026-11-01T18:00:00|COMPLETED|cpu=8,gres/gpu=16|2|n[1,3]\n"
    "2|bob|2026-11-01T11:00:00|2026-11-01T12:00:00|2026-11-01T14:00:00|COMPLETED|gres/gpu=8,node=1|1|n2\n"
    "3|bob|2026-11-01T12:00:00|None|Unknown|PENDING||1|None assigned\n"
    "4|bob|2026-11-01T12:00:00|2026-11-01T11:00:00|2026-11-01T13:00:00|COMPLETED|gres/gpu=8|1|n2\n"
    "5|bob|2026-11-02T12:00:00|2026-11-02T12:00:10|2026-11-02T13:00:00|COMPLETED|cpu=4|1|n2\n";

std::string read_back(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string sample(const std::string& name) { return scratch_file(name, fabric::site_samples().at(name)); }

Json document(const std::vector<std::string>& arguments) {
  const Finished finished = run_railweave(arguments);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  return parse_json(finished.out).value_or(Json());
}

std::vector<std::string> codes_of(const Json& report) {
  std::vector<std::string> codes;
  for (const Json& finding : list(report, "findings")) codes.push_back(text_of(finding, "code"));
  return codes;
}

TEST(ImportOffline, WritesWhatSeveralSourcesTellAndTouchesNoService) {
  const std::string path = scratch_path("merged.json");
  const Finished finished = run_railweave({"fabric", "import", sample("links.txt"), sample("nodes.json"),
                                           sample("topology.conf"), "-o", path, "--server", "http://127.0.0.1:9"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out,
              AllOf(HasSubstr("Hosts:              4\n"), HasSubstr("readFrom"), HasSubstr("iblinkinfo")));
  const Json fabric = document({"lab", "fabric", path, "-o", "json"});
  EXPECT_EQ(fabric["switches"], 3);
  EXPECT_EQ(fabric["gpus"], 24);
  const Finished placed = run_railweave({"lab", "place", path, "--tp", "8", "--dp", "2"});
  EXPECT_EQ(placed.exit_code, 0) << placed.err;
}

TEST(ImportOffline, PlacesOnGroupsAlone) {
  const std::string path = scratch_path("cloud.json");
  EXPECT_EQ(run_railweave({"fabric", "import", sample("kubernetes.json"), "-O", path}).exit_code, 0);
  const Finished placed = run_railweave({"lab", "place", path, "--tp", "4", "--dp", "2"});
  EXPECT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_THAT(placed.out, AllOf(HasSubstr("n1"), HasSubstr("n2"), Not(HasSubstr("n3"))));
}

TEST(ImportOffline, YamlIsReadAndAFolderStandsForItsFiles) {
  const std::string yaml = scratch_file("topology.yaml",
                                        "---\n- topology: t\n  cluster_default: true\n  tree:\n    switches:\n"
                                        "      - switch: leaf-1\n        nodes: n[1-2]\n");
  const Json fabric = document({"fabric", "import", yaml, "-O", scratch_path("out-yaml.json"), "-o", "json"});
  EXPECT_EQ(fabric["hosts"], 2);
  const std::string folder = scratch_path("folder");
  std::filesystem::create_directory(folder);
  for (const char* name : {"config_db.json", "n1.lldp.json"}) {
    std::ofstream(folder + "/" + name) << fabric::site_samples().at(name);
  }
  EXPECT_EQ(document({"fabric", "import", folder, "-O", scratch_path("out-folder.json"), "-o", "json"})["switches"], 3);
}

// The service stands for UFM: it is asked once, with GET and the token, and the answer is read as a file's is.
TEST(ImportOffline, ReadsAUrlWithAToken) {
  StubService ufm;
  const std::string ports = fabric::site_samples().at("ports.json");
  ufm.on(api::Method::get, "/ufmRestV3/resources/ports", [&](const api::Request& request) {
    if (request.headers.value("Authorization") != "Basic s3cret") return api::Response::json("{}", 401);
    return api::Response::json(ports);
  });
  const std::string url = ufm.url() + "/ufmRestV3/resources/ports";
  const std::string token = scratch_file("ufm.token", "s3cret\n"), path = scratch_path("of-url.json");
  const Finished read = run_railweave({"fabric", "import", url, "--source-token-file", token, "-O", path});
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_THAT(read.out, AllOf(HasSubstr("Hosts:              4\n"), HasSubstr("UFM's list of ports")));
  EXPECT_EQ(document({"lab", "fabric", path, "-o", "json"})["switches"], 3);
  const Finished refused = run_railweave({"fabric", "import", url, "-O", scratch_path("refused.json")});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("status 401"), HasSubstr("--source-token-file")));
  for (const char* host : {"ufm.invalid", "127.0.0.1.ufm.invalid", "128.0.0.1"}) {
    const std::string elsewhere = "http://" + std::string(host) + "/ufmRestV3/resources/ports";
    const Finished in_clear = run_railweave({"fabric", "import", elsewhere, "--source-token-file", token, "-O", path});
    EXPECT_NE(in_clear.exit_code, 0) << host;
    EXPECT_THAT(in_clear.err, AllOf(HasSubstr("not sent without encryption"), HasSubstr("https://"))) << host;
  }
  for (const auto& asked : ufm.asked()) EXPECT_EQ(asked.method, "GET");
}

// Job 8 runs on n1 and n3, both of partition 0x12; job 7 also on n2, which is in another.
TEST(Assess, FindsJobsAcrossPartitionsOfUfm) {
  const std::vector<std::string> files = {sample("ports.json"), sample("pkeys.json"),
                                          scratch_file("squeue-parts.json", kSqueue)};
  const Json report = document({"assess", files[0], files[1], files[2], "-o", "json"});
  Json found;
  for (const Json& finding : list(report, "findings")) {
    if (text_of(finding, "code") == "jobsAcrossPartitions") found = finding;
  }
  EXPECT_EQ(found.dump().find("8 eval"), std::string::npos) << found;
  EXPECT_NE(found.dump().find("7 train"), std::string::npos) << found;
  const Json without = document({"assess", files[0], files[2], "-o", "json"});
  EXPECT_THAT(codes_of(without), Not(Contains("jobsAcrossPartitions")));
}

TEST(ImportOffline, RefusesWhatIsUnknownWithAllThatIsRead) {
  const std::string file = scratch_file("compose.json", R"({"version":3,"services":{}})");
  const Finished finished = run_railweave({"fabric", "import", sample("links.txt"), file, "-O", scratch_path("none")});
  EXPECT_EQ(finished.exit_code, 8);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("compose.json"), HasSubstr("begins with \"version\""),
                                  HasSubstr("output of iblinkinfo"), HasSubstr("kubectl get nodes -o json")));
  EXPECT_FALSE(std::filesystem::exists(scratch_path("none")));
  const Finished broken = run_railweave(
      {"fabric", "import", scratch_file("cut.json", "{\"nodes\":[{\"gres\":\"gpu:8\",\n\"name\":"), "-O", "-"});
  EXPECT_EQ(broken.exit_code, 8);
  EXPECT_THAT(broken.err, HasSubstr("cut.json: line 2"));
}

TEST(ImportOnline, SendsOneMergedFabricWhereTheServiceReadsNoneOfTheFiles) {
  StubService service;
  service.on(api::Method::put, "/v1/fabric/topology",
             [](const api::Request&) { return api::Response::json(R"({"hosts":4,"switches":3})"); });
  const std::string links = sample("links.txt"), nodes = sample("nodes.json");
  EXPECT_EQ(service.run({"fabric", "import", links, nodes}).exit_code, 0);
  const auto asked = service.asked();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].target, "/v1/fabric/topology?format=native&source=" + links + ", " + nodes);
  EXPECT_EQ(list(Json::parse(asked[0].body), "switches").size(), 3U);
}

TEST(Assess, TellsOfJobsOutOfOrderSpreadAndSharingPorts) {
  const Json report = document({"assess", sample("links.txt"), sample("nodes.json"),
                                scratch_file("squeue.json", kSqueue), "--gpus-per-node", "8", "--json"});
  EXPECT_THAT(codes_of(report), AllOf(Contains("jobsStraddle"), Contains("ranksOutOfOrder"), Contains("portsShared")));
  const Json& jobs = report["sections"]["jobs"];
  ASSERT_EQ(jobs["jobs"].size(), 2U);
  EXPECT_EQ(jobs["jobs"][0]["ringCrossings"], 4);
  EXPECT_EQ(jobs["jobs"][0]["fewestRingCrossings"], 2);
  EXPECT_EQ(jobs["jobs"][1]["leafGroups"], 2);
  EXPECT_EQ(jobs["jobs"][1]["fewestLeafGroups"], 1);
  EXPECT_EQ(jobs["leftOut"].size(), 1U);
  for (const Json& finding : report["findings"]) {
    EXPECT_FALSE(text_of(finding, foreign("sure")).empty()) << finding;
    EXPECT_FALSE(text_of(finding, "title").empty()) << finding;
  }
}

// Racks of NVLink below one leaf group: the job's four nodes would fit in one, and take turns between two.
TEST(Assess, TellsOfJobsAcrossNvlinkDomainsAndOfHostsThatNoOtherSourceNames) {
  std::string nodes = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (const char host : std::string("abcdefgh")) {
    nodes += std::string(host == 'a' ? "" : ",") + R"({"kind":"Node","metadata":{"name":")" + host +
             R"(","labels":{"topology.k8s.aws/network-node-layer-3":"l1","topology.k8s.aws/ultraserver-id":")" +
             (host < 'e' ? "u1" : "u2") + R"("}},"status":{"capacity":{"nvidia.com/gpu":"4"}}})";
  }
  const std::string squeue =
      R"({"jobs":[{"job_id":1,"job_state":["RUNNING"],"nodes":"a,e,b,f","tres_alloc_str":"gres/gpu=16"},)"
      R"({"job_id":2,"job_state":["RUNNING"],"nodes":"c,x[1-2]"},{"job_id":3,"job_state":["RUNNING"],"nodes":"g[1-"}],)"
      R"("last_update":1})";
  const std::string sacct =
      "JobID|User|Submit|Start|End|AllocTRES|NodeList\n"
      "1|ada|2026-11-01T10:00:00|2026-11-01T10:30:00|2026-11-01T18:00:00|gres/gpu=8|a,gone\n"
      "2|ada|2026-11-01T10:00:00|2026-11-01T10:30:00|2026-11-01T18:00:00|gres/gpu=8|a,b\n"
      "3|ada|yesterday|2026-11-01T10:30:00|2026-11-01T18:00:00|gres/gpu=8|a,b\n";
  const Json report =
      document({"assess", scratch_file("racks.json", nodes + "]}"), scratch_file("racks-squeue.json", squeue),
                scratch_file("racks-sacct.txt", sacct), "--json"});
  const auto found = [&](const std::string& code) {
    for (const Json& finding : report["findings"]) {
      if (finding["code"] == code) return finding;
    }
    return Json();
  };
  EXPECT_EQ(found("jobsStraddleDomains")["objects"], Json::array({"1"}));
  EXPECT_EQ(found("jobHostsUnknown")["objects"], Json::array({"x1", "x2"}));
  EXPECT_THAT(text_of(found("ranksOutOfOrder"), "cost"),
              HasSubstr("1: 4 crossings of NVLink domains, 2 in the better order"));
  EXPECT_EQ(found("pastHostsUnknown")["title"], "1 of 2 jobs ran on hosts that no other source names");
  EXPECT_EQ(found("pastHostsUnknown")["objects"], Json::array({"gone"}));
  const Json& job = report["sections"]["jobs"]["jobs"][0];
  EXPECT_EQ(job["nvlinkDomains"], 2);
  EXPECT_EQ(job["fewestNvlinkDomains"], 1);
  EXPECT_EQ(job["betterOrder"], Json::array({"a", "b", "e", "f"}));
  std::vector<std::string> rows;
  for (const Json& finding : report["findings"]) {
    if (finding["code"] == "rowsLeftOut") rows.push_back(finding["objects"][0].get<std::string>());
  }
  EXPECT_THAT(rows,
              testing::UnorderedElementsAre(HasSubstr("racks-squeue.json"), HasSubstr("racks-sacct.txt, line 4")));
}

// As Debian's Slurm writes them without accounting.
TEST(Assess, CountsGpusThatSlurmTellsAsGresAlone) {
  const std::string squeue = scratch_file(
      "gres.json",
      R"x({"jobs":[{"job_id":1,"job_state":"RUNNING","nodes":"n[1,2]","gres_detail":["gpu:8(IDX:0-7)","gpu:h100:4(IDX:0,2,4,6)"]},)x"
      R"x({"job_id":2,"job_state":"RUNNING","nodes":"n[3,4]","tres_per_node":"gres:gpu:4"}],"last_update":1})x");
  const Json report = document({"assess", sample("links.txt"), squeue, "--json"});
  EXPECT_EQ(report["sections"]["jobs"]["jobs"][0]["gpus"], 12);
  EXPECT_EQ(report["sections"]["jobs"]["jobs"][1]["gpus"], 8);
}

TEST(Assess, ReadsPodsInTheOrderOfTheirIndices) {
  const auto pod = [](const char* name, const char* node, const char* index) {
    return std::string(R"({"kind":"Pod","metadata":{"name":")") + name +
           R"(","namespace":"ml","labels":{"training.kubeflow.org/job-name":"big","training.kubeflow.org/replica-index":")" +
           index + R"("}},"spec":{"nodeName":")" + node +
           R"(","containers":[{"resources":{"limits":{"nvidia.com/gpu":"8"}}}]},"status":{"phase":"Running"}})";
  };
  const std::string pods = R"({"apiVersion":"v1","kind":"List","items":[)" + pod("a", "n3", "10") + "," +
                           pod("b", "n1.example", "2") + "," + pod("c", "n2", "1") + R"(,{"kind":"Pod"}]})";
  const Json report = document({"assess", sample("links.txt"), scratch_file("pods.json", pods), "--json"});
  const Json& jobs = report["sections"]["jobs"]["jobs"];
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0]["id"], "ml/big");
  EXPECT_EQ(jobs[0]["hosts"], 3);
  EXPECT_EQ(jobs[0]["gpus"], 24);
  EXPECT_EQ(jobs[0]["ringCrossings"], 2);
  EXPECT_TRUE(jobs[0]["orderKnown"].get<bool>());
}

// As `kubectl get nodes,pods -o json` prints them, in either order.
TEST(Assess, ReadsNodesAndPodsOfOneList) {
  const std::string node =
      R"({"kind":"Node","metadata":{"name":"n1","labels":{}},"status":{"capacity":{"nvidia.com/gpu":"8"}}})";
  const std::string pod =
      R"({"kind":"Pod","metadata":{"name":"a","namespace":"ml"},"spec":{"nodeName":"n1",)"
      R"("containers":[{"resources":{"limits":{"nvidia.com/gpu":"8"}}}]},"status":{"phase":"Running"}})";
  for (const std::string& items : {node + "," + pod, pod + "," + node}) {
    const std::string path = scratch_file("both.json", R"({"apiVersion":"v1","kind":"List","items":[)" + items + "]}");
    const Json report = document({"assess", path, "--json"});
    EXPECT_EQ(report["sections"]["fabric"]["hosts"], 1) << items;
    EXPECT_EQ(report["sections"]["jobs"]["jobs"].size(), 1U) << items;
    EXPECT_THAT(codes_of(report), Not(Contains("rowsLeftOut"))) << items;
    const Finished imported = run_railweave({"fabric", "import", path, "-O", scratch_path("of-both.json")});
    EXPECT_EQ(imported.exit_code, 0) << imported.err;
    EXPECT_THAT(imported.err, HasSubstr("both.json (output of kubectl get pods -o json)"));
  }
}

// A job is the pods of one owner: it waits from its first pod's creation to its last one's start, and has ended when all have.
TEST(Assess, ReplaysJobsWhosePodsHaveEnded) {
  const auto pod = [](const std::string& job, const char* node, const char* start, const char* end, const char* phase) {
    const std::string state =
        *end == 0 ? ""
                  : R"("containerStatuses":[{"state":{"terminated":{"finishedAt":")" + std::string(end) + R"("}}}],)";
    return R"({"kind":"Pod","metadata":{"name":")" + job + "-" + node +
           R"(","namespace":"ml","creationTimestamp":"2026-11-02T10:00:00Z",)"
           R"("labels":{"batch.kubernetes.io/job-name":")" +
           job + R"("}},"spec":{"nodeName":")" + node +
           R"(","containers":[{"resources":{"limits":{"nvidia.com/gpu":"8"}}}]},"status":{)" + state +
           R"("startTime":")" + start + R"(","phase":")" + phase + R"("}})";
  };
  const std::string first = "2026-11-02T10:00:30Z", later = "2026-11-02T10:10:00Z", end = "2026-11-02T13:10:00Z";
  const std::string pods =
      R"({"apiVersion":"v1","kind":"List","items":[)" + pod("done", "n1", first.c_str(), end.c_str(), "Succeeded") +
      "," + pod("done", "n3", later.c_str(), end.c_str(), "Failed") + "," +
      pod("half", "n2", first.c_str(), end.c_str(), "Succeeded") + "," +
      pod("half", "n4", first.c_str(), "", "Running") + "," + pod("lost", "n2", first.c_str(), "", "Failed") + "]}";
  const Json report =
      document({"assess", sample("links.txt"), "--gpus-per-node", "8", scratch_file("ended.json", pods), "--json"});
  const Json& past = report["sections"]["past"];
  EXPECT_EQ(past["jobs"], 1);
  EXPECT_EQ(past["rowsLeftOut"], 1);
  EXPECT_NEAR(past["meanWaitS"].get<double>(), 600, 0.1);
  EXPECT_NEAR(past["gpuHours"].get<double>(), 16 * 3, 0.01);
  EXPECT_EQ(past["straddling"], 1);
  EXPECT_EQ(report["sections"]["jobs"]["jobs"].size(), 1U) << "what still runs";
}

TEST(Assess, ReplaysThePastBesideWhatHappened) {
  const Json report =
      document({"assess", sample("links.txt"), "--gpus-per-node", "8", scratch_file("sacct.txt", kSacct), "--json"});
  const Json& past = report["sections"]["past"];
  EXPECT_EQ(past["jobs"], 2);
  EXPECT_EQ(past["withoutGpus"], 1) << "accounting that tells GPUs tells none of job 5";
  EXPECT_EQ(past["rowsLeftOut"], 1);
  EXPECT_EQ(past["placed"], 1);
  EXPECT_EQ(past["straddling"], 1);
  EXPECT_NEAR(past["meanWaitS"].get<double>(), (1800 + 3600) / 2.0, 0.1);
  EXPECT_LE(past["lostGpuHours"]["low"].get<double>(), past["lostGpuHours"]["mean"].get<double>());
  EXPECT_EQ(past["replays"].size(), 2U);
}

// OpenSM's dumps are beside files of its own; a file that is given by its name is never left out.
TEST(Assess, LeavesOtherFilesOfAFolderOutAndSaysSo) {
  const std::string folder = scratch_path("dumps");
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/links.txt") << fabric::site_samples().at("links.txt");
  std::ofstream(folder + "/guid2lid") << "0x0000000000000011 0x0001 0x0001\n";
  const Finished report = run_railweave({"assess", folder, "--json"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.err, AllOf(HasSubstr("left out of the folder"), HasSubstr("guid2lid (line 1 is")));
  EXPECT_THAT(report.out, HasSubstr("nothing: left out"));
  const Finished imported = run_railweave({"fabric", "import", folder, "-O", scratch_path("out-dumps.json")});
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_THAT(imported.err, HasSubstr("guid2lid"));
  const Finished named = run_railweave({"assess", folder, folder + "/guid2lid", "--json"});
  EXPECT_EQ(named.exit_code, 8);
  EXPECT_THAT(named.err, HasSubstr("guid2lid: the format is not recognised"));
  std::filesystem::remove(folder + "/links.txt");
  EXPECT_EQ(run_railweave({"assess", folder, "--json"}).exit_code, 8) << "there is nothing else";
}

// Rows that are no jobs, and times in the forms that versions of Slurm give them.
TEST(Assess, NamesRowsThatAreNoJobs) {
  const std::string squeue = scratch_file(
      "rows.json",
      R"({"jobs":[{"job_id":7,"job_state":["RUNNING"],"nodes":"n[1,3]"},5,{"job_id":"x"}],"last_update":1})");
  const std::string sacct = scratch_file("rows-past.json", R"({"jobs":[
{"job_id":1,"user":"ada","association":{},"time":{"submission":{"set":true,"infinite":false,"number":1000},"start":{"set":true,"number":1600},
 "end":{"set":true,"number":5200}},"tres":{"allocated":[{"type":"gres","name":"gpu","count":16}]},"nodes":"n[1,3]"},
{"job_id":2,"user":"ada","time":{"submission":1000,"start":1600,"end":5200},
 "tres":{"allocated":[{"type":"gres","name":"gpu","count":16}]},"nodes":"n[2,4]"},
{"job_id":3,"time":{"submission":1000,"start":{"set":false,"number":0},"end":0}},
{"job_id":4,"time":{"submission":9000,"start":1600,"end":5200}},7],"meta":{"Slurm":{}},"errors":[]})");
  const Json report = document({"assess", sample("links.txt"), "--gpus-per-node", "8", squeue, sacct, "--json"});
  const Json& jobs = report["sections"]["jobs"];
  EXPECT_EQ(jobs["jobs"].size(), 1U);
  ASSERT_EQ(jobs["leftOut"].size(), 2U);
  EXPECT_THAT(jobs["leftOut"][0].get<std::string>(), HasSubstr("rows.json, row 2: it tells no state of a job"));
  EXPECT_THAT(jobs["leftOut"][1].get<std::string>(), HasSubstr("row 3"));
  const Json& past = report["sections"]["past"];
  EXPECT_EQ(past["jobs"], 2);
  EXPECT_NEAR(past["meanWaitS"].get<double>(), 600, 0.1);
  ASSERT_EQ(past["leftOut"].size(), 2U);
  EXPECT_THAT(past["leftOut"][0].get<std::string>(), HasSubstr("row 4: its times are not in order"));
  EXPECT_THAT(past["leftOut"][1].get<std::string>(), HasSubstr("row 5: it tells no times of a job"));
}

TEST(Assess, WritesOneFileWithoutAnythingFromElsewhere) {
  const std::string path = scratch_path("report.html");
  const std::string squeue =
      scratch_file("evil.json", R"({"jobs":[{"job_id":1,"name":"<script>alert(1)</script>","job_state":"RUNNING",)"
                                R"("nodes":"n[1,3]"}],"last_update":1})");
  const Finished finished = run_railweave({"assess", sample("links.txt"), squeue, "-o", path});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const std::string html = read_back(path);
  EXPECT_THAT(html, AllOf(HasSubstr("<!doctype html>"), HasSubstr("<svg class='chart'"),
                          HasSubstr("prefers-color-scheme"), HasSubstr("&lt;script&gt;"), HasSubstr("How sure")));
  for (const char* from_elsewhere : {"<script", "http://", "https://", "<img", "<link", "@import"}) {
    EXPECT_THAT(html, Not(HasSubstr(from_elsewhere)));
  }
}

TEST(Assess, ComparesTheTablesThatSwitchesHold) {
  const std::string links = sample("opensm-subnet.lst"), fdbs = scratch_path("opensm.fdbs");
  ASSERT_EQ(run_railweave({"fabric", "import", links, "-O", scratch_path("own.json")}).exit_code, 0);
  ASSERT_EQ(run_railweave({"lab", "route", scratch_path("own.json"), "--write-fdbs", fdbs}).exit_code, 0);
  const Json same = document({"assess", links, fdbs, "--json"});
  EXPECT_EQ(same["sections"]["routes"]["held"]["deadPairs"], 0);
  EXPECT_EQ(same["sections"]["routes"]["held"]["maxLinkLoadHosts"],
            same["sections"]["routes"]["railweave"]["maxLinkLoadHosts"]);
  std::string text = read_back(fdbs);
  for (auto at = text.find(" : 003 "); at != std::string::npos; at = text.find(" : 003 "))
    text.replace(at, 7, " : 004 ");
  const Json dead = document({"assess", links, scratch_file("dead.fdbs", text), "--json"});
  EXPECT_GT(dead["sections"]["routes"]["held"]["deadPairs"].get<int>(), 0);
  EXPECT_EQ(codes_of(dead).front(), "heldDeadPairs");
}

TEST(Assess, RefusesBrokenFilesWithTheirPlace) {
  const Finished accounting =
      run_railweave({"assess", sample("links.txt"), scratch_file("bad.txt", "JobID|User|Start\n1|a|b\n"), "--json"});
  EXPECT_EQ(accounting.exit_code, 8);
  EXPECT_THAT(accounting.err, AllOf(HasSubstr("bad.txt: line 1"), HasSubstr("'submit'"), HasSubstr("sacct -a -X -P")));
  const Finished jobs = run_railweave(
      {"assess", sample("links.txt"), scratch_file("cut.json", R"({"jobs":[{"job_id":1},{"job_id":)"), "--json"});
  EXPECT_EQ(jobs.exit_code, 8);
  EXPECT_THAT(jobs.err, HasSubstr("cut.json"));
}

// Any bytes in place of the lists of jobs: a report, or an error in words.
TEST(Assess, GarbledListsOfJobsAreReadOrRefused) {
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  const std::string links = sample("links.txt");
  for (int round = 0; round < 12; ++round) {
    std::string text = round % 2 == 0 ? kSqueue : kSacct;
    for (int i = 0; i < 4; ++i) text[below(text.size())] = static_cast<char>(' ' + below(90));
    if (round % 3 == 0) text.resize(below(text.size()) + 1);
    const Finished finished =
        run_railweave({"assess", links, scratch_file("garbled.txt", text), "--gpus-per-node", "8", "--json"});
    EXPECT_THAT(finished.exit_code, testing::AnyOf(0, 8)) << finished.err << text;
    EXPECT_TRUE(finished.exit_code == 0 || finished.err.find("garbled.txt") != std::string::npos) << finished.err;
  }
}

TEST(Assess, ReportsOnARealFabric) {
  const std::string dump = shared_data("ib/dgx-h100-ndr.ibnetdiscover.txt");
  if (dump.empty()) GTEST_SKIP() << "skipped: ib/dgx-h100-ndr.ibnetdiscover.txt is absent";
  const Json report = document({"assess", dump, "--gpus-per-node", "8", "--json"});
  EXPECT_THAT(codes_of(report), AllOf(Contains("hostShortOfRail"), Contains("leafShortOfUplinks")));
  EXPECT_EQ(report["sections"]["fabric"]["hostsShortOfRail"], 10);
  EXPECT_GT(report["sections"]["routes"]["railweave"]["maxLinkLoadHosts"].get<int>(), 0);
  EXPECT_FALSE(report["sections"]["headroom"]["groups"].empty());
}

}  // namespace
}  // namespace railweave::cli
