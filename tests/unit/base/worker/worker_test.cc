#include "fabric/base/worker/worker.h"

#include <atomic>
#include <future>
#include <string>

#include <gtest/gtest.h>
#include <pthread.h>

namespace railweave {
namespace {

using namespace std::chrono_literals;

TEST(Worker, RestsUntilItIsWokenAndEndsWhenItIsTold) {
  std::atomic<int> turns = 0;
  std::promise<void> twice;
  Worker worker("counts");
  worker.start([&](Worker::Turn& turn) {
    do {
      if (++turns == 2) twice.set_value();
    } while (turn.rest());
  });
  worker.wake();
  ASSERT_EQ(twice.get_future().wait_for(30s), std::future_status::ready);
  worker.stop();
  EXPECT_LE(turns, 2);
  worker.stop();
}

TEST(Worker, ALongRestEndsWithTheWorker) {
  const auto began = std::chrono::steady_clock::now();
  {
    Worker worker("rests");
    worker.start([](Worker::Turn& turn) { EXPECT_FALSE(turn.rest(1h)); });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
}

TEST(Worker, AWakeDuringAPauseIsForTheNextRest) {
  std::promise<bool> rested;
  Worker worker("pauses");
  std::promise<void> pausing;
  worker.start([&](Worker::Turn& turn) {
    pausing.set_value();
    EXPECT_TRUE(turn.pause(20ms));
    const bool is_awake = turn.rest(1h);
    EXPECT_FALSE(turn.is_to_end());
    rested.set_value(is_awake);  // the owner may end it from here on
  });
  pausing.get_future().wait();
  worker.wake();
  auto done = rested.get_future();
  ASSERT_EQ(done.wait_for(30s), std::future_status::ready);
  EXPECT_TRUE(done.get());
}

TEST(Worker, ItsThreadHasItsName) {
  std::promise<std::string> name;
  Worker worker("a long name of a thread");
  worker.start([&](Worker::Turn&) {
    char text[16] = {};
    (void)::pthread_getname_np(::pthread_self(), text, sizeof text);
    name.set_value(text);
  });
  EXPECT_EQ(name.get_future().get(), "a long name of ");
}

TEST(Worker, NeedsNoStart) {
  Worker worker("idle");
  worker.wake();
  worker.stop();
}

}  // namespace
}  // namespace railweave
