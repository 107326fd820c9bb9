// Both ends of the policy socket together: drains arrive, events come back, and either end survives the other.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "fabric/drivers/opensm/protocol/policy_client.h"
#include "fabric/drivers/opensm/protocol/policy_server.h"

namespace railweave::fabric::opensm {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/railweave-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// What one end received, and waiting for it.
template <class Thing>
class Received {
 public:
  void add(Thing thing) {
    const std::lock_guard lock(mutex_);
    things_.push_back(std::move(thing));
    changed_.notify_all();
  }
  template <class Predicate>
  bool wait_for(Predicate predicate, std::chrono::milliseconds wait = 10s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, wait, [&] { return std::ranges::any_of(things_, predicate); });
  }
  std::vector<Thing> all() {
    const std::lock_guard lock(mutex_);
    return things_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Thing> things_;
};

struct Server {
  explicit Server(const std::string& path, std::size_t clients = 8, std::chrono::milliseconds deadline = 10s) {
    PolicyServerHooks hooks;
    hooks.event = [this](Guid, const PolicyEvent& event) { events.add(event); };
    hooks.changed = [this](Guid subnet, bool connected) { peers.add({subnet, connected}); };
    hooks.problem = [this](const Error& error) { problems.add(error.text()); };
    server = PolicyServer::start({path, clients, deadline}, std::move(hooks)).value();
  }
  Received<PolicyEvent> events;
  Received<std::pair<Guid, bool>> peers;
  Received<std::string> problems;
  std::unique_ptr<PolicyServer> server;
};

struct Client {
  explicit Client(const std::string& path, const std::string& cache = {}, std::size_t queue = 1U << 20U) {
    PolicyClientOptions options;
    options.socket_path = path;
    options.cache_path = cache;
    options.first_retry = 5ms;
    options.longest_retry = 20ms;
    options.max_queued_bytes = queue;
    PolicyClientHooks hooks;
    hooks.received = [this](const RoutingPolicyPtr& policy, PolicyClientHooks::Difference differs) {
      received.add({policy->revision, differs != PolicyClientHooks::Difference::none});
    };
    hooks.problem = [this](const Error& error) { problems.add(error.text()); };
    client = std::make_unique<PolicyClient>(options, std::move(hooks));
  }
  [[nodiscard]] bool got(std::uint64_t revision) {
    return received.wait_for([&](const auto& policy) { return policy.first == revision; });
  }
  Received<std::pair<std::uint64_t, bool>> received;
  Received<std::string> problems;
  std::unique_ptr<PolicyClient> client;
};

RoutingPolicy policy_of(std::uint64_t revision, std::vector<Guid> drained) {
  RoutingPolicy policy;
  policy.revision = revision;
  policy.drained_switches = std::move(drained);
  return policy;
}

PolicyEvent lost_blocks(std::uint64_t number) {
  PolicyEvent event;
  event.kind = PolicyEvent::Kind::written;
  event.device = Guid(7);
  event.number = number;
  return event;
}

// A service that does not know yet what ports are to have leaves them as they are, also across restarts of either.
TEST(PolicyLink, TablesOfPortsStayUntilTheServiceKnows) {
  const Folder folder;
  const PortPolicy ports{.lanes = {{{Guid(1), 2}, {}, {{0, 1}}}}, .entering = {}, .crossing = {}};
  {
    Server server(folder.file("s"));
    Client client(folder.file("s"), folder.file("cache"));
    client.client->start(Guid(0x42));
    RoutingPolicy first = policy_of(1, {});
    first.ports = ports;
    ASSERT_TRUE(server.server->publish(first));
    ASSERT_TRUE(client.got(1));
    RoutingPolicy second = policy_of(2, {Guid(9)});
    second.keeps_ports = true;
    ASSERT_TRUE(server.server->publish(second));
    ASSERT_TRUE(client.got(2));
    EXPECT_EQ(client.client->policy()->ports, ports);
    EXPECT_FALSE(client.client->policy()->keeps_ports);
  }
  Client client(folder.file("s"), folder.file("cache"));
  EXPECT_EQ(client.client->policy()->ports, ports) << "read from the cache";
  Server server(folder.file("s"));
  client.client->start(Guid(0x42));
  ASSERT_TRUE(server.server->publish(policy_of(3, {Guid(9)})));
  ASSERT_TRUE(client.got(3));
  EXPECT_TRUE(client.client->policy()->ports.empty()) << "said to be none";
}

TEST(PolicyLink, PoliciesGoToThePluginAndEventsToTheService) {
  const Folder folder;
  Server server(folder.file("s"));
  struct stat there{};
  ASSERT_EQ(stat(folder.file("s").c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777U, 0600U);
  Client client(folder.file("s"));
  client.client->report(lost_blocks(1));  // before there is a connection
  client.client->start(Guid(0x42));
  ASSERT_TRUE(server.peers.wait_for([](const auto& peer) { return peer == std::pair(Guid(0x42), true); }));
  ASSERT_TRUE(server.events.wait_for([](const auto& event) { return event == lost_blocks(1); }));
  ASSERT_TRUE(server.server->publish(policy_of(1, {Guid(5), Guid(3)})));
  ASSERT_TRUE(client.got(1));
  EXPECT_EQ(client.client->policy()->drained_switches, (std::vector<Guid>{Guid(3), Guid(5)}));
  ASSERT_TRUE(server.server->publish(policy_of(2, {Guid(3), Guid(5)})));
  ASSERT_TRUE(client.got(2));
  EXPECT_EQ(client.received.all(), (std::vector<std::pair<std::uint64_t, bool>>{{1, true}, {2, false}}));
  EXPECT_FALSE(server.server->publish(policy_of(3, {Guid(3), Guid(3)})));
}

TEST(PolicyLink, APolicyOfALeaderThatWasSucceededIsRefusedAlsoAfterARestart) {
  const Folder folder;
  Server server(folder.file("s"));
  const auto of_term = [](std::uint64_t term, std::uint64_t revision) {
    RoutingPolicy policy = policy_of(revision, {Guid(revision)});
    policy.term = term;
    return policy;
  };
  for (const bool restarted : {false, true}) {
    Client client(folder.file("s"), folder.file("cache"));
    client.client->start(Guid(0x42));
    if (!restarted) {
      ASSERT_TRUE(server.server->publish(of_term(4, 1)));
      ASSERT_TRUE(client.got(1));
    }
    EXPECT_EQ(client.client->policy()->term, 4U);
    // Another term each time, so that what one client reported is not taken for the other's; and seen before the client ends, as
    // events that wait end with it.
    const std::uint64_t stale = restarted ? 2 : 3;
    ASSERT_TRUE(server.server->publish(of_term(stale, 2)));
    ASSERT_TRUE(client.problems.wait_for(
        [&](const auto& text) { return text.contains(fmt::format("of term {}, after one of term 4", stale)); }));
    EXPECT_EQ(client.client->policy()->revision, 1U);
    EXPECT_TRUE(server.events.wait_for([&](const auto& event) {
      return event.kind == PolicyEvent::Kind::refused && event.text.contains(fmt::format("term {}", stale));
    }));
  }
}

TEST(PolicyLink, ALargePolicyArrivesWhole) {
  const Folder folder;
  Server server(folder.file("s"));
  RoutingPolicy policy;
  for (std::uint32_t i = 1; i <= 50'000; ++i) policy.weights.push_back({Guid(i), i});
  ASSERT_TRUE(server.server->publish(policy));
  Client client(folder.file("s"), folder.file("kept"));
  client.client->start(Guid(1));
  ASSERT_TRUE(client.got(0));
  EXPECT_EQ(client.client->policy()->weights, policy.weights);
}

TEST(PolicyLink, TheLastGoodPolicyOutlivesTheServiceAndTheClient) {
  const Folder folder;
  {
    auto server = std::make_unique<Server>(folder.file("s"));
    Client client(folder.file("s"), folder.file("kept"));
    client.client->start(Guid(1));
    ASSERT_TRUE(server->server->publish(policy_of(4, {Guid(9)})));
    ASSERT_TRUE(client.got(4));
    server.reset();
    EXPECT_FALSE(std::filesystem::exists(folder.file("s")));
    EXPECT_EQ(client.client->policy()->revision, 4U);
    Server again(folder.file("s"));
    ASSERT_TRUE(again.server->publish(policy_of(5, {Guid(9)})));
    ASSERT_TRUE(client.got(5));
  }
  const Client fresh(folder.file("s"), folder.file("kept"));
  EXPECT_EQ(*fresh.client->policy(), policy_of(5, {Guid(9)}));
  std::ofstream(folder.file("kept")) << "drain-switch 1\nend 1 0\n";
  Client torn(folder.file("s"), folder.file("kept"));
  EXPECT_EQ(*torn.client->policy(), RoutingPolicy{});
  ASSERT_EQ(torn.problems.all().size(), 1U);
  EXPECT_THAT(torn.problems.all()[0], HasSubstr("kept, line 2"));
}

TEST(PolicyLink, EventsThatDoNotFitAreCounted) {
  const Folder folder;
  Client client(folder.file("s"), {}, 100);
  for (std::uint64_t i = 0; i < 50; ++i) client.client->report(lost_blocks(i));
  Server server(folder.file("s"));
  client.client->start(Guid(1));
  ASSERT_TRUE(server.events.wait_for([](const auto& event) { return event.kind == PolicyEvent::Kind::lost; }));
  const auto events = server.events.all();
  EXPECT_EQ(events.size() - 1 + events.back().number, 50U);
}

TEST(PolicyLink, ClientsThatBreakTheProtocolAreDisconnected) {
  const Folder folder;
  Server server(folder.file("s"), 2, 100ms);
  std::string_view nonsense = "GET / HTTP/1.1\r\n\r\n";
  const auto browser = connect_to(folder.file("s")).value();
  send(browser.get(), nonsense);
  EXPECT_TRUE(server.problems.wait_for([](const auto& text) { return text.find("railweave VERSION") != text.npos; }));
  const auto silent = connect_to(folder.file("s")).value();
  EXPECT_TRUE(server.problems.wait_for([](const auto& text) { return text.find("does not say") != text.npos; }));
  std::vector<FileDescriptor> many;
  for (int i = 0; i < 4; ++i) many.push_back(connect_to(folder.file("s")).value());
  EXPECT_TRUE(server.problems.wait_for([](const auto& text) { return text.find("2 clients") != text.npos; }));
  many.clear();
  Client client(folder.file("s"));
  client.client->start(Guid(1));
  ASSERT_TRUE(server.server->publish(policy_of(1, {})));
  EXPECT_TRUE(client.got(1));
}

TEST(PolicyLink, AClientThatDoesNotReadIsDropped) {
  const Folder folder;
  Server server(folder.file("s"), 8, 200ms);
  RoutingPolicy policy;
  for (std::uint32_t i = 1; i <= 100'000; ++i) policy.weights.push_back({Guid(i), i});
  ASSERT_TRUE(server.server->publish(policy));
  const auto stuck = connect_to(folder.file("s")).value();
  std::string_view hello = "railweave 3 0000000000000001\n";
  send(stuck.get(), hello);
  EXPECT_TRUE(server.problems.wait_for([](const auto& text) { return text.find("does not read") != text.npos; }));
}

TEST(PolicyLink, OneListensWhereNothingElseIs) {
  const Folder folder;
  const Server server(folder.file("s"));
  EXPECT_THAT(PolicyServer::start({.socket_path = folder.file("s")}, {}).error().text(), HasSubstr("listens there"));
  std::ofstream(folder.file("file")) << "text";
  EXPECT_THAT(PolicyServer::start({.socket_path = folder.file("file")}, {}).error().text(),
              HasSubstr("something else"));
  EXPECT_FALSE(PolicyServer::start({.socket_path = std::string(200, 'x')}, {}));
  {
    const auto abandoned = listen_on(folder.file("old")).value();
  }
  EXPECT_TRUE(std::filesystem::exists(folder.file("old")));
  EXPECT_TRUE(PolicyServer::start({.socket_path = folder.file("old")}, {}));
}

}  // namespace
}  // namespace railweave::fabric::opensm
