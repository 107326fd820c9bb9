// A driver that administers a small subnet: clients are told to ask, once, and again where they have to; and the thread that answers
// them, behind a port in memory.
#include <condition_variable>
#include <mutex>

#include "fabric/routing/engine_registry.h"
#include "tests/unit/infiniband/small_subnet.h"

namespace railweave::fabric::infiniband::client_notices_test {
namespace {

// What one client asks, and what it gets.
struct Client {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Mad> asked, answered;

  Mad ask(const Mad& mad) {
    std::unique_lock lock(mutex);
    asked.push_back(mad);
    changed.notify_all();
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(10), [&] { return !answered.empty(); }));
    if (answered.empty()) return {};
    const Mad answer = answered.front();
    answered.pop_front();
    return answer;
  }
};

class ClientPort final : public AdministrationPort {
 public:
  explicit ClientPort(Client& client) : client_(client) {}
  Result<void> send(const SaClient& to, const Mad& mad, Milliseconds /*answer_within*/) override {
    EXPECT_EQ(to.lid, 2);
    EXPECT_EQ(to.queue_pair, 1U);
    const std::lock_guard lock(client_.mutex);
    client_.answered.push_back(mad);
    client_.changed.notify_all();
    return {};
  }
  Result<std::optional<Received>> receive(Milliseconds wait) override {
    std::unique_lock lock(client_.mutex);
    if (!client_.changed.wait_for(lock, wait, [&] { return !client_.asked.empty(); })) return std::nullopt;
    Received received{.client = {.lid = 2}, .mad = client_.asked.front()};
    client_.asked.pop_front();
    return received;
  }

 private:
  Client& client_;
};

class ClientNoticesTest : public SmallSubnetTest {
 protected:
  ClientNoticesTest() {
    driver().serve_by(std::make_unique<AdministrationServer>(std::make_unique<ClientPort>(client_), 0, nullptr));
    input_.view = FabricView(driver().discover()->topology);
    input_.scope = RoutingScope::make(input_.view.topology_ptr(), {.switch_management = true}).value();
    routing_ = choose_engine(*input_.scope).engine->route(input_).value();
    for (int n = 0; n < 8; ++n) {
      lids_.push_back({.device = port(n, 0).device,
                       .port = static_cast<std::uint8_t>(n < 4 ? 1 : 0),
                       .lid = static_cast<Lid>(n + 1)});
    }
    EXPECT_TRUE(driver().bring_up(lids_, 0, {})->failed.empty());
  }
  AdministrationReport administer() {
    return driver().administer({.routing = routing_, .partitions = {}, .tables = nullptr}).value();
  }

  Client client_;
  RoutingInput input_;
  Routing routing_;
  std::vector<LidAssignment> lids_;
};

TEST_F(ClientNoticesTest, EachPortIsToldOnceAndAgainWhenLevelsChange) {
  const auto before = sets();
  EXPECT_EQ(administer().announced, 4U);
  EXPECT_EQ(sets() - before, 4U);
  EXPECT_EQ(administer().announced, 0U);
  PlaneLanes& lanes = routing_.lanes.planes.at(0);
  const Plane& plane = input_.scope->plane(PlaneId(0));
  lanes.levels = 2;
  lanes.path_level.assign(plane.homes.size() * plane.destination_count(), 1);
  EXPECT_EQ(administer().announced, 4U);
  EXPECT_EQ(administer().announced, 0U);
}

TEST_F(ClientNoticesTest, APortThatLostItsLidIsToldAgain) {
  EXPECT_EQ(administer().announced, 4U);
  subnet_->node(2).ports[1].lid = 0;
  ASSERT_TRUE(driver().sweep(true));
  EXPECT_TRUE(driver().bring_up(lids_, 0, {})->failed.empty());
  EXPECT_EQ(administer().announced, 1U);
}

TEST_F(ClientNoticesTest, ASilentPortIsToldLater) {
  subnet_->lose_if = [](const auto& asked) { return asked.node == 3; };
  AdministrationReport report = administer();
  EXPECT_EQ(report.announced, 3U);
  EXPECT_EQ(report.failed, 1U);
  subnet_->lose_if = nullptr;
  report = administer();
  EXPECT_EQ(report.announced, 1U);
  EXPECT_EQ(report.failed, 0U);
}

TEST_F(ClientNoticesTest, ClientsAreAnsweredOnceThereIsSomethingToTell) {
  Mad request{};
  mad_set_field(request.data(), 0, IB_MAD_BASEVER_F, 1);
  mad_set_field(request.data(), 0, IB_MAD_MGMTCLASS_F, IB_SA_CLASS);
  mad_set_field(request.data(), 0, IB_MAD_CLASSVER_F, 2);
  mad_set_field(request.data(), 0, IB_MAD_METHOD_F, IB_MAD_METHOD_GET);
  mad_set_field(request.data(), 0, IB_MAD_ATTRID_F, IB_SA_ATTR_PATHRECORD);
  mad_set_field64(request.data(), 0, IB_SA_COMPMASK_F, 0x30);
  mad_set_field(request.data(), IB_SA_DATA_OFFS, IB_SA_PR_DLID_F, 4);
  mad_set_field(request.data(), IB_SA_DATA_OFFS, IB_SA_PR_SLID_F, 2);
  Mad answer = client_.ask(request);
  EXPECT_EQ(mad_get_field(answer.data(), 0, IB_MAD_STATUS_F), 1U);  // busy
  administer();
  answer = client_.ask(request);
  EXPECT_EQ(mad_get_field(answer.data(), 0, IB_MAD_STATUS_F), 0U);
  EXPECT_EQ(mad_get_field(answer.data(), IB_SA_DATA_OFFS, IB_SA_PR_DLID_F), 4U);
}

TEST(PortInfo, TellsClientsToAskAgain) {
  const std::array<std::uint8_t, 64> current{};
  auto set = port_info_to_set(AttributeBytes(current), {.sm_sl = std::uint8_t{9}, .reregister = true});
  EXPECT_EQ(mad_get_field(set.data(), 0, IB_PORT_CLIENT_REREG_F), 1U);
  EXPECT_EQ(mad_get_field(set.data(), 0, IB_PORT_SMSL_F), 9U);
  set = port_info_to_set(AttributeBytes(current), {});
  EXPECT_EQ(mad_get_field(set.data(), 0, IB_PORT_CLIENT_REREG_F), 0U);
}

}  // namespace
}  // namespace railweave::fabric::infiniband::client_notices_test
