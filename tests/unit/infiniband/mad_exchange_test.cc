#include "fabric/drivers/infiniband/mad_exchange.h"

#include <gtest/gtest.h>

#include "fabric/drivers/infiniband/mad/node_info.h"
#include "fabric/drivers/infiniband/mad/smp.h"
#include "tests/unit/infiniband/memory_subnet.h"

namespace railweave::fabric::infiniband {
namespace {

class MadExchangeTest : public testing::Test {
 protected:
  MadExchangeTest() {
    subnet_.add_adapter(0x100, 1, "here mlx5_0");
    subnet_.add_switch(0x200, 8, "sw");
    subnet_.cable(0, 1, 1, 1);
    for (int i = 0; i < 4; ++i) {
      subnet_.cable(1, static_cast<unsigned>(2 + i), subnet_.add_switch(0x300U + static_cast<unsigned>(i), 4, "far"),
                    1);
    }
  }
  static Mad ask(std::initializer_list<std::uint8_t> hops, Attribute attribute = Attribute::nodeInfo,
                 std::uint32_t modifier = 0) {
    DirectedRoute route;
    for (const auto hop : hops) route = route.extended(hop);
    return directed_smp(route, MadMethod::get, attribute, modifier);
  }
  MemorySubnet subnet_;
};

TEST_F(MadExchangeTest, EveryQuestionGetsItsOwnAnswerAndTheWindowHolds) {
  MadExchange exchange(subnet_, {.window = 5});
  int right = 0;
  for (int i = 0; i < 100; ++i) {
    const auto far = static_cast<std::uint8_t>(2 + i % 4);
    exchange.submit(0, MadAddress::directed(), ask({1, far}), [&right, far](const MadReply& reply) {
      ASSERT_TRUE(reply.ok());
      right += read_node_info(attribute_bytes(*reply.mad)).node_guid == Guid(0x300U + far - 2U) ? 1 : 0;
    });
  }
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(right, 100);
  EXPECT_EQ(subnet_.most_under_way, 5U);
}

TEST_F(MadExchangeTest, LostDatagramsAreAskedAgain) {
  subnet_.lose(0.2, 7);
  MadExchange exchange(subnet_, {.window = 16, .attempts = 12});
  int answered = 0;
  for (int i = 0; i < 500; ++i) {
    exchange.submit(0, MadAddress::directed(), ask({1, 2}), [&](const MadReply& reply) { answered += reply.ok(); });
  }
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(answered, 500);
  EXPECT_GT(exchange.counts().retried, 100U);
  EXPECT_EQ(exchange.counts().sent, 500 + exchange.counts().retried);
}

TEST_F(MadExchangeTest, ASilentDeviceIsGivenUpAsAWholeAndTheOthersDoNotWait) {
  subnet_.node(2).silent = true;
  MadExchange exchange(subnet_, {.window = 8, .device_window = 2, .timeout = Milliseconds(100), .attempts = 3});
  int silent = 0, answered = 0;
  TimePoint last_answer{};
  const TimePoint start = subnet_.now();
  for (std::uint32_t i = 0; i < 300; ++i) {
    for (std::uint8_t far = 2; far < 6; ++far) {
      const Mad mad = ask({1, far}, Attribute::linearForwardingTable, i);
      exchange.submit(far, MadAddress::directed(), mad, [&, far](const MadReply& reply) {
        EXPECT_EQ(reply.silent(), far == 2);
        (reply.silent() ? silent : answered) += 1;
        if (!reply.silent()) last_answer = subnet_.now();
      });
    }
  }
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(silent, 300);
  EXPECT_EQ(answered, 900);
  EXPECT_TRUE(exchange.given_up(2));
  EXPECT_FALSE(exchange.given_up(3));
  EXPECT_LT(last_answer - start, Milliseconds(100)) << "others were answered before the first timeout";
  EXPECT_LT(subnet_.now() - start, Milliseconds(500)) << "one device's timeouts, not those of 300 questions";
}

TEST_F(MadExchangeTest, RefusalsAreNotAskedAgain) {
  MadExchange exchange(subnet_, {});
  std::uint16_t status = 0;
  exchange.submit(0, MadAddress::directed(), ask({1}, Attribute::linearForwardingTable, 9999), [&](const MadReply& r) {
    EXPECT_EQ(r.outcome, MadReply::Outcome::refused);
    status = r.status;
  });
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(status_text(status), "invalid value");
  EXPECT_EQ(exchange.counts().sent, 1U);
}

TEST_F(MadExchangeTest, ABrokenPortEndsTheRunAndTheNextOneStartsAfresh) {
  MadExchange exchange(subnet_, {});
  exchange.submit(0, MadAddress::directed(), ask({1}), [](const MadReply&) { FAIL() << "must not complete"; });
  subnet_.break_down();
  const auto ran = exchange.run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, "test.broken");
  EXPECT_TRUE(exchange.run()) << "nothing is left to ask";
}

TEST_F(MadExchangeTest, CompletionsMayAskMore) {
  MadExchange exchange(subnet_, {.window = 1});
  int depth = 0;
  std::function<void(const MadReply&)> again = [&](const MadReply&) {
    if (++depth < 50) exchange.submit(9, MadAddress::directed(), ask({1}), again);
  };
  exchange.submit(9, MadAddress::directed(), ask({1}), again);
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(depth, 50);
}

TEST_F(MadExchangeTest, TrapsAreHandedOnWhileAnswersAreAwaited) {
  MadExchange exchange(subnet_, {});
  int traps = 0;
  exchange.on_unasked([&](const ReceivedMad& mad) {
    EXPECT_EQ(read_header(mad.mad).method, MadMethod::trap);
    ++traps;
  });
  subnet_.push_unasked({lid_routed_smp(MadMethod::trap, Attribute::notice, 0), 7, false});
  bool answered = false;
  exchange.submit(0, MadAddress::directed(), ask({1}), [&](const MadReply& reply) { answered = reply.ok(); });
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(traps, 1);
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace railweave::fabric::infiniband
