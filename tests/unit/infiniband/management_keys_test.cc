// Management keys of ports, on a subnet that keeps out who does not show them (memory_subnet.h, with libibmad's fields).
#include <random>
#include <set>

#include "tests/unit/infiniband/small_subnet.h"

namespace railweave::fabric::infiniband {
namespace {

// Another program's, or a later process's, way into the same subnet.
class SharedPort final : public MadPort {
 public:
  explicit SharedPort(MemorySubnet& subnet) : subnet_(subnet) {}
  Result<void> send(const MadAddress& to, const Mad& mad, Milliseconds answer_within) override {
    return subnet_.send(to, mad, answer_within);
  }
  Result<std::optional<ReceivedMad>> receive(Milliseconds wait) override { return subnet_.receive(wait); }
  [[nodiscard]] TimePoint now() const override { return subnet_.now(); }

 private:
  MemorySubnet& subnet_;
};

ManagementKeyOf secret(std::uint64_t salt) {
  return [salt](Guid device, std::uint64_t generation) { return salt * 1'000'003 + device.value() * 31 + generation; };
}

class ManagementKeysTest : public SmallSubnetTest {
 protected:
  static constexpr std::size_t kPorts = 8;  // four adapters, four switches

  InfinibandOptions options(std::vector<ManagementKeyOf> secrets = {secret(7)}) const {
    InfinibandOptions options{.mode = SubnetMode::direct};
    options.keys.secrets = std::move(secrets);
    return options;
  }
  // As after a restart of the process: nothing is remembered.
  std::unique_ptr<InfinibandDriver> another(const InfinibandOptions& with) {
    InfinibandOptions own = with;
    own.exchange = {.window = 16, .timeout = Milliseconds(100), .attempts = 4};
    return std::make_unique<InfinibandDriver>(std::make_unique<SharedPort>(*subnet_), own);
  }
  MemorySubnet::Port& keyed(int n) { return subnet_->node(n).ports[n < 4 ? 1 : 0]; }
  std::uint64_t key_of(int n, std::uint64_t generation, std::uint64_t salt = 7) {
    return secret(salt)(Guid(subnet_->node(n).guid), generation);
  }
  void expect_keys(std::uint64_t generation) {
    for (int n = 0; n < 8; ++n) {
      EXPECT_EQ(keyed(n).key, key_of(n, generation)) << n;
      EXPECT_EQ(keyed(n).key_protection, 1U) << n;
    }
  }
  // Another program's datagram: the lanes of what enters the leaf at port 1.
  void attack(std::uint64_t shows) {
    Mad mad = directed_smp(DirectedRoute().extended(1), MadMethod::set, Attribute::slToVl, 1U << 8U | 3U, shows);
    attribute_space(mad)[0] = 0x77;
    ASSERT_TRUE(subnet_->send(MadAddress::directed(), mad, Milliseconds(10)));
    for (int i = 0; i < 4; ++i) (void)subnet_->receive(Milliseconds(20));
  }
  bool is_attacked() { return subnet_->node(kLeaf1).ports[3].sl_to_vl[1][0] == 0x77; }
};

TEST_F(ManagementKeysTest, EveryPortGetsAKeyOfItsOwn) {
  driver(options());
  const auto report = driver().keep_keys(1, false);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->ports, kPorts);
  EXPECT_EQ(report->held, kPorts);
  EXPECT_EQ(report->changed, kPorts);
  expect_keys(1);
  std::set<std::uint64_t> keys;
  for (int n = 0; n < 8; ++n) keys.insert(keyed(n).key);
  EXPECT_EQ(keys.size(), kPorts);
  const auto sets_before = sets();
  const auto again = driver().keep_keys(1, false);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->held, kPorts);
  EXPECT_EQ(again->changed, 0U);
  EXPECT_EQ(sets(), sets_before) << "only read";
}

TEST_F(ManagementKeysTest, AStrangersDatagramChangesNothing) {
  driver(options());
  attack(0);
  EXPECT_TRUE(is_attacked()) << "without keys any datagram does it";
  subnet_->node(kLeaf1).ports[3].sl_to_vl[1][0] = 0;
  ASSERT_TRUE(driver().keep_keys(1, false));
  attack(0);
  attack(key_of(0, 1));  // the attacker's own adapter's key
  EXPECT_FALSE(is_attacked());
  EXPECT_EQ(keyed(kLeaf1).key_violations, 2U);
}

TEST_F(ManagementKeysTest, WhatTheManagerWritesIsTakenAsBefore) {
  driver(options());
  ASSERT_TRUE(driver().keep_keys(1, false));
  std::vector<LidAssignment> lids;
  for (int n = 0; n < 8; ++n) {
    const std::uint8_t number = n < 4 ? 1 : 0;
    lids.push_back({Guid(subnet_->node(n).guid), number, static_cast<Lid>(100 + n), 0});
  }
  const auto up = driver().bring_up(lids, 0, {});
  ASSERT_TRUE(up);
  EXPECT_TRUE(up->failed.empty());
  EXPECT_EQ(keyed(kLeaf2).lid, 105U);
  PortTables tables{.port = port(kLeaf1, 3)};
  tables.sl_to_vl.emplace();
  tables.arbitration = VlArbitration{.high = {{1, 4}}, .low = {{0, 4}}, .high_limit = 3};
  const auto written = driver().program_ports(std::vector{tables});
  ASSERT_TRUE(written);
  EXPECT_TRUE(written->ports.at(0).complete()) << written->ports.at(0).reason;
  subnet_->cut(kLeaf1, 3);
  const auto swept = driver().sweep();
  ASSERT_TRUE(swept);
  EXPECT_TRUE(swept->silent.empty());
  EXPECT_FALSE(subnet_->node(kLeaf1).changed) << "cleared, which is a Set";
  expect_keys(1);
}

// Killed after half of the ports were rewritten; what comes back knows the secret and the generation, and nothing else.
TEST_F(ManagementKeysTest, ARotationThatWasCutOffIsFinished) {
  driver(options());
  ASSERT_TRUE(driver().keep_keys(1, false));
  for (const int n : {1, 3, kLeaf2, kSpine1}) keyed(n).key = key_of(n, 2);
  auto restarted = another(options());
  const auto found = restarted->discover();
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->silent.empty());
  const auto report = restarted->keep_keys(2, false);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->held, kPorts);
  EXPECT_EQ(report->changed, 4U);
  expect_keys(2);
}

TEST_F(ManagementKeysTest, AfterManyRotationsARestartTakesNothingForLocked) {
  driver(options());
  ASSERT_TRUE(driver().keep_keys(40, false));
  expect_keys(40);
  auto restarted = another(options());
  ASSERT_TRUE(restarted->discover());
  const auto report = restarted->keep_keys(40, false);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->held, kPorts);
  EXPECT_TRUE(report->locked.empty());
}

TEST_F(ManagementKeysTest, ANewSecretReplacesTheOneBefore) {
  driver(options());
  ASSERT_TRUE(driver().keep_keys(3, false));
  auto restarted = another(options({secret(9), secret(7)}));
  ASSERT_TRUE(restarted->discover());
  const auto report = restarted->keep_keys(3, false);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->changed, kPorts);
  EXPECT_EQ(keyed(kSpine2).key, key_of(kSpine2, 3, 9));
}

TEST_F(ManagementKeysTest, AnotherSubnetManagerGetsPortsWithoutKeys) {
  driver(options());
  ASSERT_TRUE(driver().keep_keys(1, false));
  const auto report = driver().keep_keys(1, true);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->changed, kPorts);
  for (int n = 0; n < 8; ++n) EXPECT_EQ(keyed(n).key, 0U);
  attack(0);
  EXPECT_TRUE(is_attacked());
}

TEST_F(ManagementKeysTest, ForeignKeysAreNamed) {
  keyed(kSpine1).key = 0x1234, keyed(kSpine1).key_protection = 1;  // hidden
  keyed(kSpine2).key = 0x4321;                                     // every host can read it
  keyed(2).keeps_key = false;
  driver(options());
  subnet_->node(1).silent = true;
  const auto report = driver().keep_keys(1, false);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->locked, std::vector{port(kSpine1, 0)});
  EXPECT_EQ(report->replaced, std::vector{port(kSpine2, 0)});
  EXPECT_EQ(report->without, std::vector{port(2, 1)});
  EXPECT_EQ(report->silent, std::vector{port(1, 1)});
  EXPECT_EQ(report->held, 5U);
  EXPECT_EQ(keyed(kSpine1).key, 0x1234U);
  EXPECT_EQ(keyed(kSpine2).key, key_of(kSpine2, 1));
}

// Another subnet manager has given all ports one key, and its operator has told it.
TEST_F(ManagementKeysTest, BesideAnotherManagerItsKeyIsShownAndNeverChanged) {
  for (const bool is_told : {false, true}) {
    for (int n = 0; n < 8; ++n) keyed(n).key = 0xabc, keyed(n).key_protection = 1;
    InfinibandOptions with{.mode = SubnetMode::beside};
    if (is_told) with.keys.secrets = {[](Guid, std::uint64_t) { return std::uint64_t{0xabc}; }};
    auto beside = is_told ? another(with) : nullptr;
    InfinibandDriver& own = is_told ? *beside : driver(with);
    ASSERT_TRUE(own.discover());
    PortTables tables{.port = port(kLeaf1, 3)};
    tables.sl_to_vl.emplace();
    (*tables.sl_to_vl)[0] = 1;
    const auto written = own.program_ports(std::vector{tables});
    ASSERT_TRUE(written);
    EXPECT_EQ(written->ports.at(0).complete(), is_told) << written->ports.at(0).reason;
    const auto kept = own.keep_keys(1, true);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->ports, 0U);
    for (int n = 0; n < 8; ++n) EXPECT_EQ(keyed(n).key, 0xabcU);
  }
}

TEST_F(ManagementKeysTest, NothingIsShownInOtherModes) {
  InfinibandOptions with = options();
  with.mode = SubnetMode::observe;
  driver(with);
  const auto report = driver().keep_keys(1, false);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->ports, 0U);
  EXPECT_EQ(sets(), 0U);
}

TEST_F(ManagementKeysTest, WrongKeysAreReportedWithTheirSender) {
  driver(options());
  ReceivedMad trap{.mad = {}, .source = 5, .timed_out = false};
  write_header(trap.mad, {.management_class = MadClass::subnetLidRouted,
                          .method = MadMethod::trap,
                          .status = 0,
                          .transaction = 9,
                          .attribute = Attribute::notice,
                          .modifier = 0});
  auto* data = trap.mad.data() + 64;
  mad_set_field(data, 0, IB_NOTICE_IS_GENERIC_F, 1);
  mad_set_field(data, 0, IB_NOTICE_TRAP_NUMBER_F, 256);
  mad_set_field(data, 0, IB_NOTICE_ISSUER_LID_F, 5);
  data[12] = 0, data[13] = 2;
  subnet_->push_unasked(trap);
  const auto seen = driver().observe(Milliseconds(5));
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->size(), 1U);
  EXPECT_EQ(seen->at(0).kind, Observation::Kind::wrongKey);
  EXPECT_EQ(seen->at(0).device, Guid(0x2000)) << "of LID 5";
  EXPECT_EQ(seen->at(0).sender, Guid(0x1010)) << "of LID 2";
}

// Ports with any of the keys that there may be, and losses: after a few rounds each is held, or named with what it really has.
TEST_F(ManagementKeysTest, WhateverPortsHoldIsSettled) {
  driver(options());
  std::mt19937 random(20'261'126);
  for (std::uint32_t round = 0; round < 60; ++round) {
    const std::uint64_t generation = 1 + random() % 20;
    std::set<int> foreign;
    for (int n = 0; n < 8; ++n) {
      MemorySubnet::Port& at = keyed(n);
      at.key_protection = random() % 2;
      switch (random() % 4) {
        case 0:
          at.key = 0, at.key_protection = 0;
          break;
        case 1:
          at.key = key_of(n, generation > 3 ? generation - random() % 3 : generation);
          break;
        case 2:
          at.key = key_of(n, generation + random() % 8);
          break;
        default:
          at.key = 0xbad;
          if (at.key_protection == 1) foreign.insert(n);
      }
    }
    auto restarted = another(options());
    subnet_->lose(0.2, round);
    (void)restarted->discover();
    for (int i = 0; i < 3; ++i) (void)restarted->keep_keys(generation, false);
    subnet_->lose(0, round);
    ASSERT_TRUE(restarted->discover(true));
    const auto report = restarted->keep_keys(generation, false);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->held, kPorts - foreign.size()) << "round " << round;
    EXPECT_EQ(report->locked.size(), foreign.size()) << "round " << round;
    for (int n = 0; n < 8; ++n) {
      EXPECT_EQ(keyed(n).key, foreign.contains(n) ? 0xbad : key_of(n, generation)) << "round " << round;
      EXPECT_EQ(keyed(n).key_protection, 1U);
    }
  }
}

}  // namespace
}  // namespace railweave::fabric::infiniband
