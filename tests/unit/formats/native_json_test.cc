#include "fabric/formats/native/native_json.h"

#include <nlohmann/json.hpp>

#include "tests/unit/formats/fixtures.h"

namespace railweave::fabric::native_json_test {
namespace {

constexpr std::string_view kSmall = R"({"railweave":"fabric","version":1,
"subnets":[{"name":"compute","kind":"compute"}],
"racks":["A"],
"rails":["red","blue"],
"nvlinkDomains":[{"name":"d","clusterUuid":"u","rateMbps":3600000}],
"switches":[{"guid":"1","name":"leaf","description":"on the wire","ports":4,"subnet":"compute","rack":"A","group":"g","lid":4,"lmc":1}],
"hosts":[{"name":"n","kind":"storage","rack":"A","labels":{"k":"v"},"adapters":[
 {"guid":"a","device":"mlx5_0","ports":[{"guid":"b","lid":7,"lmc":2,"rail":"blue"},{}]}],
 "gpus":[{"domain":"d","clique":3,"nics":[0]},{}]}],
"adapters":[{"kind":"aggregation","guid":"c","ports":[{}]}],
"linkSpecs":[{"speed":"HDR","width":4,"cableLengthM":1.5}],
"links":[[0,1,1,1,0],[0,4,2,1,0]],
"findings":[{"code":"odd","severity":"info","message":"m","objects":["o"]}]
})";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  const auto at = result.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? result : result.replace(at, from.size(), to);
}

TEST(NativeJson, ReadsEverythingATopologyHolds) {
  const Topology topology = must_read(kSmall, Format::native);
  const SwitchId leaf = topology.find_switch("leaf");
  ASSERT_TRUE(leaf);
  EXPECT_EQ(topology.guid(leaf), Guid(1));
  EXPECT_EQ(topology.description(leaf), "on the wire");
  EXPECT_EQ(topology.ports(leaf).size(), 4U);
  EXPECT_EQ(topology.kind(topology.subnet(leaf)), SubnetKind::compute);
  EXPECT_EQ(topology.name(topology.rack(leaf)), "A");
  EXPECT_EQ(topology.group(leaf), "g");
  EXPECT_EQ(topology.lid(leaf), 4);
  EXPECT_EQ(topology.lmc(leaf), 1);
  const HostId host = topology.find_host("n");
  EXPECT_EQ(topology.kind(host), HostKind::storage);
  EXPECT_EQ(topology.name(topology.rack(host)), "A");
  ASSERT_EQ(topology.labels(host).size(), 1U);
  EXPECT_EQ(topology.text(topology.labels(host)[0].value), "v");
  const HcaId hca = topology.hcas(host).front();
  EXPECT_EQ(topology.description(hca), "n mlx5_0");
  const PortId port = topology.ports(hca)[0];
  EXPECT_EQ(topology.port_guid(port), Guid(0xb));
  EXPECT_EQ(topology.lid(port), 7);
  EXPECT_EQ(topology.lmc(port), 2);
  EXPECT_EQ(topology.name(topology.rail(port)), "blue");
  EXPECT_FALSE(topology.rails_inferred());
  EXPECT_FALSE(topology.rail(topology.ports(hca)[1]));
  ASSERT_EQ(topology.gpus(host).size(), 2U);
  const GpuId gpu = topology.gpus(host)[0];
  EXPECT_EQ(topology.cluster_uuid(topology.nvlink_domain(gpu)), "u");
  EXPECT_EQ(topology.rate_per_gpu(topology.nvlink_domain(gpu)), from_gbps(3600));
  EXPECT_EQ(topology.number(topology.clique(gpu)), 3U);
  ASSERT_EQ(topology.nics(gpu).size(), 1U);
  EXPECT_EQ(topology.nics(gpu)[0], hca);
  EXPECT_FALSE(topology.nvlink_domain(topology.gpus(host)[1]));
  const LinkSpec spec = topology.spec(topology.link(port));
  EXPECT_EQ(spec.rate, from_gbps(200));
  EXPECT_EQ(spec.cable_length_m, 1.5F);
  EXPECT_EQ(count(topology).aggregation_nodes, 1U);
  ASSERT_EQ(topology.source_findings().size(), 1U);
  EXPECT_EQ(topology.source_findings()[0].objects, std::vector<std::string>{"o"});
}

TEST(NativeJson, FieldsMayComeInAnyOrder) {
  // nlohmann's default object sorts its keys, so "adapters" comes before "switches" and "gpus" before "name".
  const std::string sorted = nlohmann::json::parse(kSmall).dump(1);
  EXPECT_LT(sorted.find("\"links\""), sorted.find("\"switches\""));
  EXPECT_EQ(write_native_json(must_read(sorted)), write_native_json(must_read(kSmall)));
  EXPECT_EQ(detect_format(sorted), Format::native);
}

TEST(NativeJson, TheExampleOfTheDescriptionReads) {
  std::ifstream file(RAILWEAVE_SOURCE_DIR "/fabric/formats/native/native_json.md");
  ASSERT_TRUE(file.is_open());
  std::ostringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  const auto begin = document.find("```json\n") + 8;
  const Topology topology = must_read(std::string_view(document).substr(begin, document.find("```", begin) - begin));
  EXPECT_EQ(topology.links().size(), 6U);  // 4 and those of 2 GPUs
  EXPECT_TRUE(topology.source_findings().empty());
}

// "f.json: line L, column C" of the first place of `needle`.
std::string place(std::string_view text, std::string_view needle) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (const char c : text.substr(0, text.find(needle))) {
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  return "f.json: line " + std::to_string(line) + ", column " + std::to_string(column);
}

TEST(NativeJson, RefusesWithLineAndColumn) {
  struct Case {
    std::string_view from, to, at, message;
  };
  for (const auto& [from, to, at, message] : std::vector<Case>{
           {"\"lmc\":1", "\"color\":1", "\"color\"", "unknown field 'color' in a switch"},
           {"\"findings\"", "\"notes\"", "\"notes\"", "unknown field 'notes' in a fabric"},
           {"\"version\":1", "\"version\":2", "2,", "version 2 is not known; expected 1"},
           {"\"version\":1,", "", "{", "the field \"version\": 1 is missing"},
           {"\"railweave\":\"fabric\",", "", "{", "the field \"railweave\": \"fabric\" is missing"},
           {"\"fabric\"", "\"job\"", "\"job\"", "expected \"fabric\": this is another kind of file"},
           {"\"rail\":\"blue\"", "\"rail\":\"green\"", "\"green\"", "'green' is not in \"rails\""},
           {"\"nics\":[0]", "\"nics\":[1]", "[1]", "there is no adapter 1; the host has 1, numbered from 0"},
           {"[0,1,1,1,0]", "[0,1,33,1,0]", "33", "there is no device 33; there are 3, numbered from 0"},
           {"[0,1,1,1,0]", "[0,55,1,1,0]", "55", "the device has ports 1 to 4"},
           {"[0,1,1,1,0]", "[0,1,1,1,77]", "77", "there is no link specification 77"},
           {"[0,1,1,1,0]", "[0,1,1,66]", "66", "the device has ports 1 to 2"},
           {"[0,1,1,1,0]", "[0,1,1,1]", "1],[0,4", "expected five numbers"},
           {"[0,1,1,1,0]", "[0,1,1,1,0,88]", "88", "expected five numbers"},
           {"\"lid\":7", "\"lid\":49152", "49152", "expected a whole number from 0 to 49151"},
           {"\"kind\":\"storage\"", "\"kind\":\"dog\"", "\"dog\"", "expected compute, storage, management or unnamed"},
           {"\"name\":\"n\"", "\"name\":\"n\\u001b\"", "\"n\\u", "control character in a name"},
           {"[\"A\"]", "[\"A\",\"A\"]", "\"A\"]", "the name 'A' is given twice"},
           {"\"guid\":\"1\"", "\"guid\":\"xyz\"", "\"xyz\"", "expected a GUID of 1 to 16 hexadecimal digits"},
           {"\"width\":4", "\"width\":-4", "-4", "expected a whole number from 0 to 65535"},
           {"\"o\"]}]\n}", "\"o\"]}]\n} zz", "zz", "unexpected text after the end of the document"}}) {
    const std::string text = replaced(kSmall, from, to);
    auto topology = read_fabric(text, Format::native, {.source = "f.json"});
    ASSERT_FALSE(topology.has_value()) << to;
    EXPECT_EQ(topology.error().text(), place(text, at) + ": " + std::string(message));
  }
}

TEST(NativeJson, RefusesHostsThatComeTwiceAndCountsWithoutLimit) {
  const std::string head = R"({"railweave":"fabric","version":1,"hosts":[)";
  EXPECT_FALSE(read_fabric(head + R"({"name":"a"},{"name":"a"}]})"));
  std::string gpus = "{}";
  for (int i = 1; i < 65; ++i) gpus += ",{}";
  auto refused = read_fabric(head + R"({"name":"a","gpus":[)" + gpus + "]}]}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::tooLarge);
}

TEST(NativeJson, ComposesWithWhatOtherReadersAdded) {
  TopologyBuilder builder;
  builder.host("n");
  ASSERT_TRUE(read_native_json(kSmall, {}, builder));
  const Topology topology = built(std::move(builder));
  EXPECT_EQ(topology.hosts().size(), 1U);
  EXPECT_EQ(topology.hcas(topology.find_host("n")).size(), 1U);
}

// Everything but what the native format says goes without saying: source findings in their order, inferred rails.
void expect_equal(const Topology& a, const Topology& b) {
  ASSERT_EQ(a.hosts().size(), b.hosts().size());
  ASSERT_EQ(a.switches().size(), b.switches().size());
  ASSERT_EQ(a.hcas().size(), b.hcas().size());
  ASSERT_EQ(a.gpus().size(), b.gpus().size());
  ASSERT_EQ(a.links().size(), b.links().size());
  ASSERT_EQ(a.all_ports().size(), b.all_ports().size());
  ASSERT_EQ(a.racks().size(), b.racks().size());
  ASSERT_EQ(a.subnets().size(), b.subnets().size());
  ASSERT_EQ(a.nvlink_domains().size(), b.nvlink_domains().size());
  ASSERT_EQ(a.rails().size(), b.rails().size());
  EXPECT_EQ(a.rails_inferred(), b.rails_inferred());
  EXPECT_EQ(a.source_findings().size(), b.source_findings().size());
  for (const auto host : a.hosts()) {
    EXPECT_EQ(a.name(host), b.name(host));
    EXPECT_EQ(a.kind(host), b.kind(host));
    EXPECT_EQ(a.rack(host), b.rack(host));
    EXPECT_EQ(a.hcas(host).size(), b.hcas(host).size());
    ASSERT_EQ(a.labels(host).size(), b.labels(host).size());
    for (std::size_t i = 0; i < a.labels(host).size(); ++i) {
      EXPECT_EQ(a.text(a.labels(host)[i].key), b.text(b.labels(host)[i].key));
      EXPECT_EQ(a.text(a.labels(host)[i].value), b.text(b.labels(host)[i].value));
    }
  }
  for (const auto sw : a.switches()) {
    EXPECT_EQ(a.guid(sw), b.guid(sw));
    EXPECT_EQ(a.name(sw), b.name(sw));
    EXPECT_EQ(a.description(sw), b.description(sw));
    EXPECT_EQ(a.group(sw), b.group(sw));
    EXPECT_EQ(a.subnet(sw), b.subnet(sw));
    EXPECT_EQ(a.rack(sw), b.rack(sw));
    EXPECT_EQ(a.lid(sw), b.lid(sw));
    EXPECT_EQ(a.lmc(sw), b.lmc(sw));
    EXPECT_EQ(a.tier(sw), b.tier(sw));
  }
  for (const auto hca : a.hcas()) {
    EXPECT_EQ(a.guid(hca), b.guid(hca));
    EXPECT_EQ(a.kind(hca), b.kind(hca));
    EXPECT_EQ(a.host(hca), b.host(hca));
    EXPECT_EQ(a.device(hca), b.device(hca));
    EXPECT_EQ(a.description(hca), b.description(hca));
  }
  for (const auto gpu : a.gpus()) {
    EXPECT_EQ(a.host(gpu), b.host(gpu));
    EXPECT_EQ(a.nvlink_domain(gpu), b.nvlink_domain(gpu));
    EXPECT_EQ(a.clique(gpu), b.clique(gpu));
    EXPECT_TRUE(std::ranges::equal(a.nics(gpu), b.nics(gpu)));
  }
  for (const auto port : a.all_ports()) {
    EXPECT_EQ(a.owner(port), b.owner(port));
    EXPECT_EQ(a.peer(port), b.peer(port));
    if (!a.is_hca_port(port)) continue;
    EXPECT_EQ(a.port_guid(port), b.port_guid(port));
    EXPECT_EQ(a.lid(port), b.lid(port));
    EXPECT_EQ(a.lmc(port), b.lmc(port));
    EXPECT_EQ(a.rail(port), b.rail(port));
  }
  for (const auto link : a.links()) EXPECT_EQ(a.spec(link), b.spec(link));
  for (const auto domain : a.nvlink_domains()) {
    EXPECT_EQ(a.name(domain), b.name(domain));
    EXPECT_EQ(a.cluster_uuid(domain), b.cluster_uuid(domain));
    EXPECT_EQ(a.rate_per_gpu(domain), b.rate_per_gpu(domain));
  }
  for (const auto clique : a.cliques()) EXPECT_EQ(a.number(clique), b.number(clique));
  for (const auto rail : a.rails()) EXPECT_EQ(a.name(rail), b.name(rail));
  for (const auto rack : a.racks()) EXPECT_EQ(a.name(rack), b.name(rack));
  for (const auto subnet : a.subnets()) EXPECT_EQ(a.kind(subnet), b.kind(subnet));
}

TEST(NativeJson, RandomFabricsComeBackEqualAndByteIdentical) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology = RandomFabric(seed, false).make();
    const std::string written = write_native_json(topology);
    ASSERT_TRUE(nlohmann::json::accept(written));
    const Topology again = must_read(written);
    expect_equal(topology, again);
    ASSERT_EQ(write_native_json(again), written);
    if (HasFailure()) break;
  }
}

TEST(NativeJson, RealFabricsComeBackEqualAndByteIdentical) {
  auto files = shared_files("ib");
  for (const auto& file : shared_files("ibsim")) files.push_back(file);
  if (files.empty()) GTEST_SKIP() << "the real dumps ib/* and ibsim/* are not on this machine";
  for (const auto& file : files) {
    SCOPED_TRACE(file);
    const Topology topology = must_read(shared_file(file).value());
    const std::string written = write_native_json(topology);
    const Topology again = must_read(written);
    expect_equal(topology, again);
    EXPECT_EQ(write_native_json(again), written);
  }
}

TEST(NativeJson, SitesComeBackWithWhatJoinsThem) {
  const Topology topology = must_read(
      R"({"railweave":"fabric","version":1,"sites":["west","east","far"],
"siteLinks":[{"b":"east","a":"west","links":8,"rateMbps":400000,"lengthKm":80.5},
{"a":"far","b":"west","rateMbps":100000,"latencyUs":9000.25}],
"switches":[{"name":"leaf-1","ports":4,"site":"west"},{"name":"leaf-2","ports":4}],
"hosts":[{"name":"a","adapters":[{"guid":"1","device":"mlx5_0","ports":[{}]}]},{"name":"b","site":"east"}],
"linkSpecs":[{"speed":"NDR","width":4}],"links":[[0,1,2,1,0]]})");
  ASSERT_EQ(topology.sites().size(), 3U);
  EXPECT_EQ(topology.name(topology.site(topology.find_host("a"))), "west");
  EXPECT_EQ(topology.name(topology.site(topology.find_host("b"))), "east");
  EXPECT_FALSE(topology.site(topology.find_switch("leaf-2")));
  ASSERT_EQ(topology.site_links().size(), 2U);
  EXPECT_EQ(topology.site_links()[0].latency_us, 402.5F);
  EXPECT_EQ(topology.site_links()[1].latency_us, 9000.25F);
  const std::string written = write_native_json(topology);
  const Topology again = must_read(written);
  expect_equal(topology, again);
  EXPECT_EQ(write_native_json(again), written);
  ASSERT_FALSE(topology.hosts().empty());
  for (const auto host : topology.hosts()) EXPECT_EQ(topology.site(host), again.site(host));
  EXPECT_TRUE(std::ranges::equal(topology.site_links(), again.site_links()));
  for (const std::string bad :
       {R"("sites":["a","a"])", R"("sites":["a"],"siteLinks":[{"a":"a","b":"a","rateMbps":1}])",
        R"("sites":["a","b"],"siteLinks":[{"a":"a","b":"b"}])", R"("sites":["a"],"siteLinks":[{"a":"a","b":"b"}])",
        R"("sites":["a","b"],"siteLinks":[{"a":"a","b":"b","rateMbps":1,"links":0}])",
        R"("sites":["a","b"],"siteLinks":[{"a":"a","b":"b","rateMbps":1,"latencyUs":-1}])",
        R"("hosts":[{"name":"h","site":"x"}])"}) {
    TopologyBuilder builder;
    EXPECT_FALSE(read_native_json("{\"railweave\":\"fabric\",\"version\":1," + bad + "}", {}, builder)) << bad;
  }
}

TEST(NativeJson, LinksKnownFromOneEndComeBackInTheirPlace) {
  TopologyBuilder builder;
  const auto sw = [&](std::uint64_t guid) {
    return builder.add_switch(
        {.guid = Guid(guid), .name = {}, .description = {}, .ports = 4, .subnet = {}, .rack = {}, .group = {}});
  };
  const SwitchDraft a = sw(1);
  const SwitchDraft b = sw(2);
  builder.declare_peer({b, 1}, {a, 1}, infiniband_link(4, LinkSpeed::ndr));
  builder.connect({a, 2}, {b, 2}, infiniband_link(4, LinkSpeed::ndr));
  const Topology topology = built(std::move(builder));
  EXPECT_EQ(topology.link_text(LinkId(0)), "0000000000000001/1--0000000000000002/1");
  EXPECT_EQ(topology.link(topology.find_port("0000000000000002/2")), LinkId(1));
  const std::string written = write_native_json(topology);
  EXPECT_EQ(write_native_json(must_read(written)), written);
}

TEST(NativeJson, DuplicatesAreFoundAgainRatherThanKept) {
  TopologyBuilder builder;
  for (int i = 0; i < 3; ++i)
    builder.add_switch(
        {.guid = Guid(7), .name = "same", .description = {}, .ports = 1, .subnet = {}, .rack = {}, .group = {}});
  const Topology topology = built(std::move(builder));
  EXPECT_EQ(findings(topology, "duplicateGuid").size(), 2U);
  const std::string written = write_native_json(topology);
  const Topology again = must_read(written);
  EXPECT_EQ(findings(again, "duplicateGuid").size(), 2U);
  EXPECT_EQ(findings(again, "duplicateName").size(), 3U);
  EXPECT_EQ(write_native_json(again), written);
}

}  // namespace
}  // namespace railweave::fabric::native_json_test
