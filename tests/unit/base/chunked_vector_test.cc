#include "fabric/base/chunked_vector.h"

#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace railweave {
namespace {

using Small = ChunkedVector<int, 4>;

TEST(ChunkedVector, HoldsTheValueItWasFilledWith) {
  const Small vector(10, 7);
  ASSERT_EQ(vector.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(vector[i], 7);
  EXPECT_TRUE(Small().empty());
}

TEST(ChunkedVector, CopiesDoNotSeeLaterWritesOfEachOther) {
  Small a(10);
  a.write(3) = 1;
  Small b = a;
  a.write(3) = 2;
  b.write(4) = 9;
  EXPECT_EQ(a[3], 2);
  EXPECT_EQ(b[3], 1);
  EXPECT_EQ(a[4], 0);
  EXPECT_EQ(b[4], 9);
  const Small c = b;
  b = a;
  EXPECT_EQ(b[3], 2);
  EXPECT_EQ(c[3], 1);
}

TEST(ChunkedVector, WritesInPlaceUntilItIsCopied) {
  Small a(8);
  const int* first = &a.write(0);
  EXPECT_EQ(&a.write(1), first + 1);  // the same chunk, now its own
  const Small snapshot = a;
  EXPECT_NE(&a.write(0), first);
  EXPECT_EQ(&snapshot[0], first);
}

TEST(ChunkedVector, AMovedVectorKeepsItsChunksAndTheOldOneIsEmpty) {
  Small a(8);
  const int* first = &a.write(0);
  Small b = std::move(a);
  EXPECT_EQ(a.size(), 0U);  // NOLINT(bugprone-use-after-move): what a moved-from vector holds is promised
  EXPECT_EQ(&b.write(0), first);
}

TEST(ChunkedVector, VisitsASupersetOfWhatDiffers) {
  Small a(10);
  const Small before = a;
  a.write(5) = 1;
  std::set<std::size_t> visited;
  a.for_each_unshared(before, [&](std::size_t i) { visited.insert(i); });
  EXPECT_EQ(visited, (std::set<std::size_t>{4, 5, 6, 7}));
  visited.clear();
  before.for_each_unshared(before, [&](std::size_t i) { visited.insert(i); });
  EXPECT_TRUE(visited.empty());
  a.for_each_unshared(Small(), [&](std::size_t i) { visited.insert(i); });
  EXPECT_EQ(visited.size(), 10U);
}

TEST(ChunkedVector, BehavesAsIndependentVectorsWould) {
  std::mt19937 random(11);
  std::vector<std::pair<ChunkedVector<int, 8>, std::vector<int>>> versions;
  versions.emplace_back(ChunkedVector<int, 8>(50), std::vector<int>(50));
  for (int step = 0; step < 5000; ++step) {
    auto& version = versions[random() % versions.size()];
    switch (random() % 10) {
      case 0:
        if (versions.size() < 12) {
          auto copy = version;
          versions.push_back(std::move(copy));
        }
        break;
      case 1: {
        auto other = versions[random() % versions.size()];
        version = other;
        break;
      }
      case 2: {
        auto moved = std::move(version);
        version = std::move(moved);
        break;
      }
      default: {
        const std::size_t i = random() % 50;
        const int value = static_cast<int>(random());
        version.first.write(i) = value;
        version.second[i] = value;
      }
    }
  }
  for (const auto& [chunked, plain] : versions) {
    for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(chunked[i], plain[i]);
  }
}

// One writer publishes snapshots, as the control loop does, while readers copy and read them. Under ThreadSanitizer
// this shows a chunk written in place that a reader still holds.
TEST(ChunkedVector, SnapshotsStayWhatTheyWereWhileTheWriterGoesOn) {
  constexpr std::size_t kSize = 64;
  using Vector = ChunkedVector<std::uint64_t, 8>;
  std::mutex mutex;
  auto published = std::make_shared<const Vector>(kSize);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  std::atomic<bool> torn{false};
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      while (!done) {
        std::shared_ptr<const Vector> snapshot;
        {
          const std::scoped_lock lock(mutex);
          snapshot = published;
        }
        const Vector copy = *snapshot;  // several threads copy one vector
        // Every round writes one number to all elements, so a snapshot holds one number only.
        for (std::size_t i = 1; i < kSize; ++i) {
          if (copy[i] != copy[0] || (*snapshot)[i] != copy[0]) torn = true;
        }
      }
    });
  }
  Vector working(kSize);
  for (std::uint64_t round = 1; round <= 300; ++round) {
    for (std::size_t i = 0; i < kSize; ++i) working.write(i) = round;
    auto next = std::make_shared<const Vector>(working);
    const std::scoped_lock lock(mutex);
    published = std::move(next);
  }
  done = true;
  for (auto& reader : readers) reader.join();
  EXPECT_FALSE(torn);
}

TEST(ChunkedVectorDeathTest, ReadingPastTheEndEndsTheProcess) {
  const Small vector(3);
  EXPECT_DEATH((void)vector[3], "broken invariant: index within the array");
}

}  // namespace
}  // namespace railweave
