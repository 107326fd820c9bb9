#include "services/control/command_queue.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace railweave::control::command_queue_test {
namespace {

std::vector<std::string> all_of(CommandQueue<std::string>& queue) {
  std::vector<std::string> order;
  while (!queue.empty()) {
    EXPECT_EQ(queue.front(), queue.front());
    const std::string first = queue.front();
    order.push_back(queue.pop());
    EXPECT_EQ(order.back(), first);
  }
  return order;
}

TEST(CommandQueue, TenantsTakeTurnsAndEachKeepsItsOrder) {
  CommandQueue<std::string> queue;
  for (const char* one : {"a1", "a2", "a3", "a4"}) queue.push("a", one);
  queue.push("b", "b1");
  queue.push("", "operator");
  queue.push("b", "b2");
  EXPECT_EQ(queue.size(), 7U);
  EXPECT_EQ(queue.size_of("a"), 4U);
  EXPECT_EQ(queue.size_of("c"), 0U);
  EXPECT_EQ(all_of(queue), (std::vector<std::string>{"a1", "b1", "operator", "a2", "b2", "a3", "a4"}));
  EXPECT_EQ(queue.size_of("a"), 0U);
}

TEST(CommandQueue, WhoComesLaterWaitsForOneOfEachOther) {
  CommandQueue<std::string> queue;
  for (int i = 0; i < 100; ++i) queue.push("greedy", "g");
  (void)queue.pop();
  queue.push("patient", "p");
  EXPECT_EQ(queue.pop(), "g");
  EXPECT_EQ(queue.pop(), "p");
}

}  // namespace
}  // namespace railweave::control::command_queue_test
