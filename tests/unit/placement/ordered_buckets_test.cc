#include "scheduler/placement/fit/ordered_buckets.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace railweave::scheduler::ordered_buckets_test {
namespace {

TEST(OrderedBuckets, AnswerAsASortedSetDoes) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    std::mt19937_64 random(seed);
    const auto items = static_cast<std::uint32_t>(1 + random() % 9000);
    const auto most = static_cast<std::uint32_t>(random() % 200);
    OrderedBuckets buckets(items, most);
    std::set<std::pair<std::uint32_t, std::uint32_t>> oracle;  // (key, item)
    std::vector<std::uint32_t> key_of(items, 0);
    for (std::uint32_t item = 0; item < items; ++item) oracle.emplace(0, item);
    for (int step = 0; step < 20'000; ++step) {
      const auto item = static_cast<std::uint32_t>(random() % items);
      const auto key = static_cast<std::uint32_t>(random() % (most + 1));
      buckets.move(item, key_of[item], key);
      oracle.erase({key_of[item], item});
      oracle.emplace(key, item);
      key_of[item] = key;

      const auto asked = static_cast<std::uint32_t>(random() % (most + 3));
      const auto next = oracle.lower_bound({asked, 0});
      ASSERT_EQ(buckets.key_from(asked), next == oracle.end() ? std::nullopt : std::optional(next->first));
      const auto after = oracle.upper_bound({asked, UINT32_MAX});
      ASSERT_EQ(buckets.key_up_to(asked),
                after == oracle.begin() ? std::nullopt : std::optional(std::prev(after)->first));
      if (asked > most) continue;
      const auto from = static_cast<std::uint32_t>(random() % items);
      const auto end = from + static_cast<std::uint32_t>(random() % (items - from + 1));
      const auto found = oracle.lower_bound({asked, from});
      const bool there = found != oracle.end() && found->first == asked && found->second < end;
      ASSERT_EQ(buckets.item_from(asked, from, end), there ? found->second : end)
          << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace railweave::scheduler::ordered_buckets_test
