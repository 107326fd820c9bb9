#include "scheduler/placement/fit/gpu_choice.h"

#include <bit>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace railweave::scheduler::gpu_choice_test {
namespace {

constexpr std::uint64_t kEight = 0xff;

TEST(ChosenGpus, TwoGroupsOfFourFitEight) {
  EXPECT_EQ(choose_gpus(kEight, kEight, 4), 0x0fU);
  EXPECT_EQ(choose_gpus(kEight, 0xf0, 4), 0xf0U);
}

TEST(ChosenGpus, TheSmallestAlignedRunThatHoldsThemIsUsed) {
  EXPECT_EQ(choose_gpus(kEight, 0b11110011, 2), 0b00000011U);  // the pair, not half of the four
  EXPECT_EQ(choose_gpus(kEight, 0b11110100, 1), 0b00000100U);
  EXPECT_EQ(choose_gpus(kEight, 0b11110100, 2), 0b00110000U);
  EXPECT_EQ(choose_gpus(kEight, 0b11110110, 2), 0b00110000U);  // 1 and 2 are no aligned pair
  EXPECT_EQ(choose_gpus(kEight, 0b11110001, 3), 0b01110000U);
}

TEST(ChosenGpus, TheLargestRunsComeFirstWhereNoSingleOneDoes) {
  EXPECT_EQ(choose_gpus(kEight, 0b01110111, 5), 0b00110111U);
  EXPECT_EQ(choose_gpus(kEight, 0b10101101, 3), 0b00001101U);
}

TEST(ChosenGpus, AlignmentCountsWithinTheIsland) {
  EXPECT_EQ(choose_gpus(0xf0, 0b11110000, 2), 0b00110000U);
  EXPECT_EQ(choose_gpus(0b01010101, 0b01010100, 2), 0b01010000U);  // positions 2 and 3
}

std::uint64_t run_of(unsigned at, unsigned length) {
  return (length >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << length) - 1) << at;
}

// Shortest aligned run of free positions that holds `count` and is no part of a longer one, by looking at all; 0: none.
unsigned shortest_run(std::uint64_t free, unsigned count) {
  for (unsigned length = std::bit_ceil(count); length <= 64; length *= 2) {
    for (unsigned at = 0; at < 64; at += length) {
      if ((free & run_of(at, length)) != run_of(at, length)) continue;
      const std::uint64_t twice = length == 64 ? 0 : run_of(at / (2 * length) * 2 * length, 2 * length);
      if (length == 64 || (free & twice) != twice) return length;
    }
  }
  return 0;
}

TEST(ChosenGpus, AreFreeAsManyAsAskedAndInTheShortestRunThatHoldsThem) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const auto size = static_cast<unsigned>(1 + random() % 64);
    const auto shift = static_cast<unsigned>(random() % (65 - size)) % 64;
    const std::uint64_t island = run_of(shift, size);
    const std::uint64_t free = island & random() & (random() % 2 == 0 ? ~std::uint64_t{0} : random());
    if (free == 0) continue;
    const auto count = static_cast<unsigned>(1 + random() % static_cast<unsigned>(std::popcount(free)));
    const std::uint64_t chosen = choose_gpus(island, free, count);
    ASSERT_EQ(chosen & ~free, 0U);
    ASSERT_EQ(std::popcount(chosen), static_cast<int>(count));
    if (count == static_cast<unsigned>(std::popcount(free))) continue;
    const unsigned length = shortest_run(free >> shift, count);
    if (length == 0) continue;
    const auto first = static_cast<unsigned>(std::countr_zero(chosen >> shift)) / length * length;
    ASSERT_EQ((chosen >> shift) & ~run_of(first, length), 0U) << std::hex << free << " " << count << " " << chosen;
    ASSERT_EQ((free >> shift) & run_of(first, length), run_of(first, length));
  }
}

}  // namespace
}  // namespace railweave::scheduler::gpu_choice_test
