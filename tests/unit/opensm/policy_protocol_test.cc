// Documents and events: what is written is read back, what is torn is refused whole and named.
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/base/fnv1a.h"
#include "fabric/drivers/opensm/protocol/plugin_options.h"
#include "fabric/drivers/opensm/protocol/policy_event.h"
#include "fabric/drivers/opensm/protocol/policy_reader.h"
#include "fabric/drivers/opensm/protocol/routing_policy.h"

namespace railweave::fabric::opensm {
namespace {

using ::testing::HasSubstr;

RoutingPolicy random_policy(std::mt19937_64& random) {
  const auto guid = [&] { return Guid(random() | 1U); };
  const auto port = [&] { return static_cast<unsigned>(1 + random() % 254); };
  RoutingPolicy policy;
  policy.revision = random();
  policy.term = random() % 3;
  policy.repeat = random() % 3;
  policy.rewrite = random() % 3;
  for (std::uint64_t n = random() % 20; n > 0; --n)
    policy.drained_links.push_back({{guid(), port()}, {guid(), port()}});
  for (std::uint64_t n = random() % 5; n > 0; --n) policy.drained_switches.push_back(guid());
  for (std::uint64_t n = random() % 30; n > 0; --n) {
    policy.weights.push_back({guid(), static_cast<std::uint32_t>(random() | 1U)});
  }
  return canonical(std::move(policy)).value();
}

std::string refusal(std::string_view text) {
  const auto policy = read_policy(text);
  return policy ? "taken" : policy.error().text();
}

// The document of such lines, with its digest.
std::string document(const std::string& lines, const std::string& revision = "1") {
  return lines + "end " + revision + " " + hex64(Fnv1a().add(lines).value()) + "\n";
}

TEST(PolicyProtocol, DocumentsAreReadBackHoweverTheyAreCut) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<RoutingPolicy> policies;
    std::string stream;
    for (std::uint64_t n = 1 + random() % 3; n > 0; --n) {
      policies.push_back(random_policy(random));
      stream += write_policy(policies.back());
    }
    PolicyReader reader;
    std::vector<Result<RoutingPolicy>> done;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t piece = std::min<std::size_t>(1 + random() % 70, stream.size() - at);
      ASSERT_TRUE(reader.feed(std::string_view(stream).substr(at, piece), done));
      at += piece;
    }
    ASSERT_EQ(done.size(), policies.size());
    for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i].value(), policies[i]);
    EXPECT_TRUE(reader.idle());
  }
}

TEST(PolicyProtocol, TheDigestIsFnv1a) {
  EXPECT_EQ(hex64(Fnv1a().add("").value()), "cbf29ce484222325");
  EXPECT_EQ(hex64(Fnv1a().add("a").value()), "af63dc4c8601ec8c");  // the authors' test vectors
  EXPECT_EQ(hex64(Fnv1a().add("foobar").value()), "85944171f73967e8");
  EXPECT_EQ(write_policy({}), "end 0 cbf29ce484222325\n");
}

TEST(PolicyProtocol, AnyChangedByteIsRefusedOrHarmless) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; ++round) {
    const RoutingPolicy policy = random_policy(random);
    std::string text = write_policy(policy);
    const std::size_t at = random() % text.size();
    const char was = text[at];
    text[at] = static_cast<char>(random());
    if (text[at] == was) continue;
    const auto read = read_policy(text);
    // The revision is the one thing that the digest leaves out; capitals mean the same in the digest itself.
    if (read) {
      EXPECT_TRUE(read->same_content(policy)) << text;
    }
  }
}

TEST(PolicyProtocol, MalformedLinesAreNamed) {
  EXPECT_THAT(refusal(document("drain-link 1/1--2/2\ndrain-switch\n")), HasSubstr("line 2: expected"));
  EXPECT_THAT(refusal(document("drain-link 1/1-2/2\n")), HasSubstr("not 'drain-link 1/1-2/2'"));
  EXPECT_THAT(refusal(document("drain-link 1/0--2/2\n")), HasSubstr("port from 1 to 254"));
  EXPECT_THAT(refusal(document("drain-link 1/255--2/2\n")), HasSubstr("port from 1 to 254"));
  EXPECT_THAT(refusal(document("drain-link 1/7--1/7\n")), HasSubstr("joins two ports"));
  EXPECT_THAT(refusal(document("drain-link 1/1--2/2\ndrain-link 2/2--1/1\n")), HasSubstr("named twice"));
  EXPECT_THAT(refusal(document("drain-switch 0\n")), HasSubstr("GUID 0"));
  EXPECT_THAT(refusal(document("drain-switch 1 2\n")), HasSubstr("line 1"));
  EXPECT_THAT(refusal(document("weight 1 0\n")), HasSubstr("start at 1"));
  EXPECT_THAT(refusal(document("weight 1 4294967296\n")), HasSubstr("line 1"));
  EXPECT_THAT(refusal(document("weight 1 2\nweight 1 3\n")), HasSubstr("two weights"));
  EXPECT_THAT(refusal(document("weight 1  2\n")), HasSubstr("line 1"));
  EXPECT_THAT(refusal(document("\n")), HasSubstr("line 1"));
  EXPECT_THAT(refusal(document("weight 1 2\r\n")), HasSubstr("\\x0d"));
  EXPECT_THAT(refusal(document("", "x")), HasSubstr("end REVISION DIGEST"));
  EXPECT_THAT(refusal("end 1 0000000000000000\n"), HasSubstr("digest cbf29ce484222325"));
  EXPECT_THAT(refusal("end 1\n"), HasSubstr("end REVISION DIGEST"));
  EXPECT_THAT(refusal("weight 1 2\n"), HasSubstr("'end' line"));
  EXPECT_THAT(refusal(document(std::string(600, 'x') + "\n")), HasSubstr("at most 512 bytes"));
}

TEST(PolicyProtocol, ReadingGoesOnBehindARefusedDocument) {
  PolicyReader reader;
  std::vector<Result<RoutingPolicy>> done;
  ASSERT_TRUE(reader.feed("nonsense\n" + document("weight 1 2\n") + document("weight 3 4\n", "9"), done));
  ASSERT_EQ(done.size(), 2U);
  EXPECT_FALSE(done[0]);
  ASSERT_TRUE(done[1]);
  EXPECT_EQ(done[1]->revision, 9U);
  EXPECT_EQ(done[1]->weights, (std::vector<PortWeight>{{Guid(3), 4}}));
}

TEST(PolicyProtocol, ADocumentWithoutAnEndIsGivenUp) {
  PolicyReader reader;
  std::vector<Result<RoutingPolicy>> done;
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "drain-switch 1\n";
  std::size_t fed = 0;
  while (reader.feed(lines, done)) ASSERT_LT(++fed, 1000U);
  EXPECT_TRUE(done.empty());
}

TEST(PolicyProtocol, EventsAreReadBack) {
  using Kind = PolicyEvent::Kind;
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    PolicyEvent event;
    event.kind = static_cast<Kind>(random() % 10);
    if (event.kind == Kind::trap || event.kind == Kind::written) event.device = Guid(random());
    if (event.kind == Kind::trap) {
      event.port = static_cast<unsigned>(random() % 255);
      event.number = random() % 300;
    }
    if (event.kind == Kind::written || event.kind == Kind::lost) event.number = random();
    if (event.kind == Kind::routed || event.kind == Kind::subnetUp) {
      event.revision = random();
      event.digest = random();
    }
    if (event.kind == Kind::refused || event.kind == Kind::noPorts) event.text = "reason " + std::to_string(random());
    const std::string line = write_event(event);
    ASSERT_EQ(line.back(), '\n');
    EXPECT_EQ(read_event(std::string_view(line).substr(0, line.size() - 1)).value(), event) << line;
  }
  PolicyEvent event;
  event.kind = Kind::refused;
  event.text = "two\nlines" + std::string(1000, 'x');
  const std::string line = write_event(event);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_LT(line.size(), kMaxProtocolLine);
  EXPECT_TRUE(read_event(std::string_view(line).substr(0, line.size() - 1)));
  for (const char* wrong : {"", "event", "event trap 1 2", "event trap 1 256 1", "event routed 1 2", "events lost 1",
                            "event lost -1", "event lft 1 2 3", "event subnet-error 1", "event nothing 1"}) {
    EXPECT_FALSE(read_event(wrong)) << wrong;
  }
}

TEST(PolicyProtocol, TheGreetingNamesThePortAndTheVersion) {
  EXPECT_EQ(write_hello(Guid(0xabc)), "railweave 3 0000000000000abc\n");
  EXPECT_EQ(read_hello("railweave 3 0000000000000abc").value(), Guid(0xabc));
  EXPECT_THAT(read_hello("railweave 1 1").error().text(), HasSubstr("version 3"));
  EXPECT_FALSE(read_hello("railweave 3 0"));
  EXPECT_FALSE(read_hello("GET / HTTP/1.1"));
}

TEST(PolicyProtocol, PluginOptionsAreReadInAnyOrder) {
  const auto options = read_plugin_options("  cache=/var/cache/x\tsocket=/run/s ");
  EXPECT_EQ(options->socket, "/run/s");
  EXPECT_EQ(options->cache, "/var/cache/x");
  EXPECT_TRUE(read_plugin_options(""));
  for (const char* wrong : {"socket", "socket=", "socket=run/s", "sockets=/run/s"}) {
    EXPECT_FALSE(read_plugin_options(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace railweave::fabric::opensm
