#include "fabric/health/counter_archive.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "fabric/health/thresholds.h"

namespace railweave::fabric::health::counter_archive_test {
namespace {

constexpr std::int64_t kSecond = 1'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
constexpr std::int64_t kStart = 1'790'000'000 * kSecond / kHour * kHour;  // a full hour

ArchiveEntry entry(std::int64_t from_us, std::int64_t to_us, float load, std::uint32_t symbol_errors = 0) {
  return {.from_us = from_us, .to_us = to_us, .load = load, .waiting = load / 2, .errors = {symbol_errors}};
}

TEST(CounterArchive, ThinsReadingsToSlots) {
  CounterArchive archive(2, {});
  for (int i = 0; i < 6; ++i) {
    archive.add(1, entry(kStart + i * 10 * kSecond, kStart + (i + 1) * 10 * kSecond, i < 3 ? 0.2F : 0.4F, 2));
  }
  const auto range = archive.range(1, ArchiveRing::fine, kStart + kMinute - 1);
  EXPECT_EQ(range.slot_us, kMinute);
  ASSERT_EQ(range.slots.size(), 60U);
  EXPECT_EQ(range.from_us, kStart - 59 * kMinute);
  EXPECT_FALSE(range.slots[58].is_read);
  const auto& last = range.slots.back();
  ASSERT_TRUE(last.is_read);
  EXPECT_NEAR(last.load, 0.3, 0.004);
  EXPECT_NEAR(last.peak, 0.4, 0.004);
  EXPECT_NEAR(last.waiting, 0.15, 0.004);
  EXPECT_EQ(last.errors[0], 12U);
  EXPECT_EQ(last.errors[1], 0U);
  EXPECT_FALSE(archive.at(0, kStart, kStart + kMinute).is_read) << "another port";
}

// Against everything kept: whatever is read when, each slot is what its readings make it.
TEST(CounterArchive, EqualsAllReadingsTogether) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    const ArchiveOptions options{.slot_us = {10 * kSecond, 35 * kSecond}, .slots = {7, 5}};
    CounterArchive archive(1, options);
    struct Sum {
      double seconds = 0, load = 0, peak = 0;
      std::uint64_t errors = 0;
    };
    std::array<std::map<std::int64_t, Sum>, 2> all;
    std::int64_t now = kStart;
    for (int reading = 0; reading < 60; ++reading) {
      const bool pause = random() % 20 == 0;
      const std::int64_t begin = now + (pause ? static_cast<std::int64_t>(random() % 100) * kSecond : 0);
      const std::int64_t end = begin + static_cast<std::int64_t>(1 + random() % 15) * kSecond;
      const float load = static_cast<float>(random() % 1000) / 1000;
      const std::uint32_t errors = random() % 3 == 0 ? static_cast<std::uint32_t>(random() % 100) : 0;
      archive.add(0, entry(begin, end, load, errors));
      for (std::size_t ring = 0; ring < 2; ++ring) {
        const auto width = options.slot_us[ring];
        for (auto slot = begin / width; slot <= (end - 1) / width; ++slot) {
          const double seconds =
              static_cast<double>(std::min(end, (slot + 1) * width) - std::max(begin, slot * width)) * 1e-6;
          auto& sum = all[ring][slot];
          sum.seconds += seconds;
          sum.load += static_cast<double>(load) * seconds;
          sum.peak = std::max(sum.peak, static_cast<double>(load));
          if (slot == (end - 1) / width) sum.errors += errors;
        }
      }
      now = end;
      for (std::size_t ring = 0; ring < 2; ++ring) {
        const auto width = options.slot_us[ring];
        const auto range = archive.range(0, static_cast<ArchiveRing>(ring), now - 1);
        for (std::size_t i = 0; i < range.slots.size(); ++i) {
          const auto known = all[ring].find(range.from_us / width + static_cast<std::int64_t>(i));
          ASSERT_EQ(range.slots[i].is_read, known != all[ring].end()) << round << " " << reading << " " << i;
          if (!range.slots[i].is_read) continue;
          EXPECT_NEAR(range.slots[i].load, known->second.load / known->second.seconds, 0.005);
          EXPECT_NEAR(range.slots[i].peak, known->second.peak, 0.005);
          const auto errors_then = static_cast<double>(known->second.errors);
          EXPECT_NEAR(range.slots[i].errors[0], errors_then, errors_then <= 32 ? 0 : errors_then * 0.032);
        }
      }
    }
  }
}

TEST(CounterArchive, CountsWithinThreePercent) {
  for (std::uint32_t count = 1; count < 200'000; count += 1 + count / 50) {
    CounterArchive archive(1, {});
    archive.add(0, entry(kStart, kStart + kSecond, 0, count));
    const double kept = archive.at(0, kStart, kStart + kSecond).errors[0];
    EXPECT_NEAR(kept, count, count <= 32 ? 0 : count * 0.032);
  }
}

TEST(CounterArchive, OldSlotsAreForgottenAndCoarseOnesReachFurther) {
  CounterArchive archive(1, {});
  for (int minute = 0; minute < 24 * 60; ++minute) {
    archive.add(0, entry(kStart + minute * kMinute, kStart + (minute + 1) * kMinute, minute < 600 ? 0.9F : 0.1F));
  }
  const std::int64_t now = kStart + 24 * kHour - 1;
  EXPECT_NEAR(archive.at(0, now - 59 * kMinute, now).load, 0.1, 0.004);
  EXPECT_NEAR(archive.at(0, kStart + 2 * kHour, now).load, 0.9, 0.004) << "of the coarse ring";
  EXPECT_FALSE(archive.at(0, kStart - 1, now).is_read);
  EXPECT_FALSE(archive.at(0, now + kHour, now).is_read) << "not yet";
  // Unread for a day: nothing of before is taken for the present.
  const auto later = archive.range(0, ArchiveRing::fine, now + 24 * kHour);
  for (const auto& slot : later.slots) EXPECT_FALSE(slot.is_read);
  EXPECT_FALSE(archive.at(0, now - kMinute, now + 48 * kHour).is_read);
}

TEST(CounterArchive, ErrorsOfTheHourBefore) {
  CounterArchive archive(1, {});
  for (int minute = 0; minute < 180; ++minute) {
    archive.add(0, entry(kStart + minute * kMinute, kStart + (minute + 1) * kMinute, 0, minute < 60 ? 1 : 0));
  }
  const std::int64_t now = kStart + 3 * kHour - 1;
  EXPECT_EQ(archive.errors_per_hour(0, kStart + kHour - 1, now)[0], 60);
  EXPECT_EQ(archive.errors_per_hour(0, kStart + 90 * kMinute - 1, now)[0], 30);
  EXPECT_EQ(archive.errors_per_hour(0, now, now)[0], 0);
}

TEST(CounterArchive, StaysWithinItsMemory) {
  constexpr std::size_t kPorts = 20'000;
  const CounterArchive whole(kPorts, {});
  EXPECT_LE(whole.memory_bytes(), kPorts * 1344);
  ArchiveOptions options;
  options.max_bytes = kPorts * 873;  // what the ports of 100,000 GPUs have of 512 MiB
  CounterArchive bounded(kPorts, options);
  EXPECT_LE(bounded.memory_bytes(), options.max_bytes);
  EXPECT_GT(bounded.memory_bytes(), options.max_bytes * 9 / 10);
  const auto fine = bounded.range(0, ArchiveRing::fine, kStart), coarse = bounded.range(0, ArchiveRing::coarse, kStart);
  EXPECT_EQ(fine.slots.size(), 37U);
  EXPECT_EQ(coarse.slots.size(), 59U);
  EXPECT_NEAR(static_cast<double>(fine.slot_us) * 37, 1.0 * kHour, 1e3) << "they reach as far";
  EXPECT_NEAR(static_cast<double>(coarse.slot_us) * 59, 24.0 * kHour, 1e3);
  options.max_bytes = 0;
  CounterArchive none(kPorts, options);
  none.add(3, entry(kStart, kStart + kSecond, 1));
  EXPECT_EQ(none.memory_bytes(), 0U);
  EXPECT_TRUE(none.range(3, ArchiveRing::fine, kStart).slots.empty());
  EXPECT_FALSE(none.at(3, kStart, kStart).is_read);
}

TEST(CounterArchive, IsTakenOver) {
  CounterArchive before(2, {}), after(3, {});
  before.add(1, entry(kStart, kStart + 10 * kSecond, 0.5F, 3));
  after.take_over(2, before, 1);
  after.add(2, entry(kStart + 10 * kSecond, kStart + 20 * kSecond, 0.7F, 4));
  const auto slot = after.at(2, kStart, kStart + 20 * kSecond);
  EXPECT_NEAR(slot.load, 0.6, 0.004);
  EXPECT_EQ(slot.errors[0], 7U);
  EXPECT_FALSE(after.at(1, kStart, kStart).is_read);
}

TEST(CounterArchive, AClockThatIsSetBackAddsToTheNewestSlot) {
  CounterArchive archive(1, {});
  archive.add(0, entry(kStart, kStart + 10 * kSecond, 0.5F, 1));
  archive.add(0, entry(kStart - 2 * kHour, kStart - 2 * kHour + 10 * kSecond, 0.5F, 1));
  EXPECT_EQ(archive.at(0, kStart, kStart + 20 * kSecond).errors[0], 2U);
  EXPECT_FALSE(archive.at(0, kStart - 2 * kHour, kStart + 20 * kSecond).is_read);
}

TEST(ErrorGrade, IsThatOfTheWorstKind) {
  const auto thresholds = default_thresholds();
  EXPECT_EQ(grade_of({}, thresholds), ErrorGrade::none);
  EXPECT_EQ(grade_of({0.01F}, thresholds), ErrorGrade::none) << "an error of days ago";
  EXPECT_EQ(grade_of({119}, thresholds), ErrorGrade::some);
  EXPECT_EQ(grade_of({120}, thresholds), ErrorGrade::warning);
  EXPECT_EQ(grade_of({0, 2}, thresholds), ErrorGrade::warning) << "recoveries weigh more than symbol errors";
  EXPECT_EQ(grade_of({119, 0, 6}, thresholds), ErrorGrade::critical);
}

}  // namespace
}  // namespace railweave::fabric::health::counter_archive_test
