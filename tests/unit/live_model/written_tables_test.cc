// What each single write of a forwarding table does to packets that are on their way, on random subnets by seed: trees whose routes are
// spread again after failures, and rings whose cables fail and return within a packet's life. Nothing but cables fails here, so that
// everything is judged; what datagrams and switches do besides, live_model_test.cc has.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/seeds.h"
#include "tests/unit/live_model/changed_blocks.h"
#include "tests/unit/live_model/held_paths.h"
#include "tests/unit/live_model/live_model.h"
#include "tests/unit/live_model/packets_under_way.h"

namespace railweave::control {
namespace {

class WatchedWrites : public LiveModel {
 public:
  // Of all models: writes that were judged, those of them that spread routes again, and models that were spread.
  static inline std::uint64_t writes_ = 0, steps_ = 0, spread_ = 0;

 protected:
  WatchedWrites(std::uint64_t seed, bool is_rebalanced, RandomSubnet::Shape shape)
      : LiveModel(seed, is_rebalanced, shape),
        packets_(world_.subnet, world_.adapters()),
        changed_(world_.subnet, world_.switches()) {
    world_.subnet.before_answer = [this](const MemorySubnet::Asked& asked) {
      constexpr unsigned kSet = 2, kForwardingTable = 0x19;
      if (asked.method == kSet && asked.attribute == kForwardingTable) judge_last_write();
    };
  }
  // "": nothing was wrong yet.
  std::string start() {
    if (auto fault = accept_what_is_there(); !fault.empty()) return fault;
    connect(false);
    step(20, 200);
    changed_.forget();
    return fault_;
  }
  void step(unsigned times, unsigned wait_ms) {
    for (; times > 0; --times) {
      is_whole_ = do_all_arrive();
      if (auto spread = step_once(wait_ms); spread && is_all_known()) {
        promised_ = spread->fullest;
        is_begun_ = false;
        changed_.forget();
        ++spread_;
      }
      judge_last_write();
      if (promised_ && is_begun_ && is_done()) judge_promise();
    }
  }
  void set(RandomSubnet::Cable& cable, bool up) {
    judge_last_write();
    promised_.reset();  // something else is to be repaired
    world_.set(cable, up);
    packets_.go_on();
  }
  RandomSubnet::Cable& any_cable_of_switches() {
    while (true) {
      auto& cable = any_cable();
      if (world_.is_switch(cable.b)) return cable;
    }
  }
  // Tables of all switches, so that they can be compared.
  [[nodiscard]] std::vector<std::vector<std::uint8_t>> tables() {
    std::vector<std::vector<std::uint8_t>> all;
    for (const int sw : world_.switches()) all.push_back(world_.subnet.node(sw).lft);
    return all;
  }
  [[nodiscard]] bool do_all_arrive() {
    const std::size_t adapters = world_.adapters().size();
    return HeldPaths(world_.subnet, world_.adapters()).arriving().size() == adapters * (adapters - 1);
  }
  void note(const std::string& fault) {
    if (fault_.empty()) fault_ = fault;
  }

  std::string fault_;  // the first

 private:
  // Else what is not known yet is repaired first, and what was promised is void.
  [[nodiscard]] bool is_all_known() {
    return std::ranges::all_of(world_.cables, [&](const auto& cable) {
      return state_.view.alive(topology_->link(port_of(cable.a, cable.a_port))) == cable.is_up;
    });
  }
  [[nodiscard]] bool is_done() const { return controller_->status()->phase == SubnetPhase::synced; }
  // Each write is judged before the next one, or once the step is over.
  void judge_last_write() {
    packets_.go_on();
    const std::size_t changed = changed_.take();
    if (changed == 0) return;
    writes_ += changed;
    if (packets_.has_loop()) note("packets go round after a write");
    if (is_whole_ && packets_.has_circle()) note("packets can wait for each other in a circle after a write");
    if (!promised_) return;
    is_begun_ = true;
    steps_ += changed;
    constexpr std::size_t kMaxASecond = 4 * kBlocksAStep;
    if (changed_.in_last_second() > kMaxASecond) {
      note(std::to_string(changed_.in_last_second()) + " blocks were written within a second while routes were spread");
    }
    if (!is_whole_) return;
    if (packets_.loses_some()) note("a step of spreading routes loses packets that are on their way");
    if (!do_all_arrive()) note("a step of spreading routes loses pairs");
  }
  void judge_promise() {
    const std::uint64_t fullest = HeldPaths(world_.subnet, world_.adapters()).fullest();
    if (fullest > *promised_) {
      note(std::to_string(fullest) + " pairs are on the fullest link, which was to have " + std::to_string(*promised_));
    }
    promised_.reset();
  }

  PacketsUnderWay packets_;
  ChangedBlocks changed_;
  bool is_whole_ = false;                  // at the start of a step all pairs arrive, so that nothing is urgent
  bool is_begun_ = false;                  // with what was promised
  std::optional<std::uint64_t> promised_;  // while routes are spread again: pairs on the fullest link
};

// A tree or a ring that loses cables for good, some at a time, with time to spread routes again; in the end it is managed by another
// process.
class SpreadRoutes : public WatchedWrites {
 public:
  explicit SpreadRoutes(std::uint64_t seed)
      : WatchedWrites(seed, true, seed % 3 == 0 ? RandomSubnet::Shape::ring : RandomSubnet::Shape::tree) {}

  static inline std::uint64_t judged_ = 0;

  std::string run() {
    if (auto fault = start(); !fault.empty()) return fault;
    for (unsigned failures = 1 + world_.pick(3); failures > 0; --failures) {
      for (unsigned cables = 1 + world_.pick(2); cables > 0; --cables) {
        set(any_cable_of_switches(), false);
        if (world_.pick(2) == 0) step(1, 1 + world_.pick(400));
      }
      step(200, 100);
      judge_quiet();
      if (!fault_.empty()) return fault_;
    }
    if (controller_->status()->phase != SubnetPhase::synced) return fault_;  // some are cut off
    const auto before = tables();
    connect(false);
    step(100, 100);
    if (tables() != before) note("another process writes other tables");
    return fault_;
  }

 private:
  void judge_quiet() {
    if (!do_all_arrive()) return;  // some are cut off
    if (controller_->status()->phase != SubnetPhase::synced) return note("it is not synced: " + alarm_texts());
    if (alarm_texts().find("routes.onOneLane") != std::string::npos) return;  // not spread, as documented
    const auto base = routes_.at(state_);
    if (!base) return note(base.error().text());
    const auto fresh = fullest_if_fresh(**base, truth(**base, world_.reached()), world_.adapters());
    if (!fresh) return;
    ++judged_;
    const std::uint64_t fullest = HeldPaths(world_.subnet, world_.adapters()).fullest();
    if (fullest * 20 <= *fresh * 21) return;
    note(std::to_string(fullest) + " pairs are on the fullest link, which could be " + std::to_string(*fresh));
  }
};

// Cables of a ring fail and return one after the other, within the life of packets and also not.
class RestlessRing : public WatchedWrites {
 public:
  explicit RestlessRing(std::uint64_t seed) : WatchedWrites(seed, seed % 2 == 0, RandomSubnet::Shape::ring) {}

  std::string run() {
    if (auto fault = start(); !fault.empty()) return fault;
    auto* cable = &any_cable_of_switches();
    for (unsigned acts = 8 + world_.pick(8); acts > 0 && fault_.empty(); --acts) {
      if (world_.pick(3) == 0) cable = &any_cable_of_switches();  // else it is back, or fails once more
      set(*cable, !cable->is_up);
      step(1 + world_.pick(3), world_.pick(4) == 0 ? 1500 : 1 + world_.pick(100));
    }
    step(20, 500);
    return fault_;
  }
};

class WrittenTablesTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  static std::uint64_t seeds() {
    const char* const asked = std::getenv("RAILWEAVE_SEEDS");
    return asked != nullptr ? std::strtoull(asked, nullptr, 10) : part_of_seeds(200);
  }
};

TEST_P(WrittenTablesTest, RoutesAreSpreadAgainAsPromisedAndNoStepHarmsAnyPacket) {
  for (std::uint64_t seed = GetParam() * seeds() + 1; seed <= (GetParam() + 1) * seeds(); ++seed) {
    EXPECT_EQ(SpreadRoutes(seed).run(), "") << "seed " << seed;
  }
  EXPECT_TRUE(seeds() < 20 || SpreadRoutes::judged_ > 0) << "of no model the balance was judged";
  EXPECT_TRUE(seeds() < 20 || SpreadRoutes::steps_ > 0) << "routes were never spread again";
  RecordProperty("judged", std::to_string(SpreadRoutes::judged_));
  RecordProperty("spread", std::to_string(SpreadRoutes::spread_));
  RecordProperty("steps", std::to_string(SpreadRoutes::steps_));
  RecordProperty("writes", std::to_string(SpreadRoutes::writes_));
}

TEST_P(WrittenTablesTest, NoWriteLetsPacketsWaitInACircle) {
  const std::uint64_t rings = 3 * seeds();  // each takes little
  for (std::uint64_t seed = GetParam() * rings + 1; seed <= (GetParam() + 1) * rings; ++seed) {
    EXPECT_EQ(RestlessRing(seed).run(), "") << "seed " << seed;
  }
  RecordProperty("writes", std::to_string(RestlessRing::writes_));
}

INSTANTIATE_TEST_SUITE_P(Seeds, WrittenTablesTest, testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace railweave::control
