#include "fabric/base/enum_text.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace railweave::sample {

enum class Level : std::uint8_t { nvlink_domain, node, leaf_group };
BOOST_DESCRIBE_ENUM(Level, nvlink_domain, node, leaf_group)

enum class DeviceWord : std::uint8_t { unknown, link, network_switch };
BOOST_DESCRIBE_ENUM(DeviceWord, unknown, link, network_switch)
constexpr std::optional<std::string_view> enum_exception(DeviceWord word) {
  if (word == DeviceWord::unknown) return "";
  if (word == DeviceWord::network_switch) return "switch";
  return std::nullopt;
}

enum class Generation : std::uint8_t { sdr, fdr10 };
BOOST_DESCRIBE_ENUM(Generation, sdr, fdr10)
constexpr EnumStyle enum_style(Generation) { return EnumStyle::upper_case; }

enum class Sparse : int { minus_one = -1, big_value = 4096 };
BOOST_DESCRIBE_ENUM(Sparse, minus_one, big_value)
constexpr EnumStyle enum_style(Sparse) { return EnumStyle::kebab_case; }

struct Table {
  enum class Align : std::uint8_t { far_left, right };
  BOOST_DESCRIBE_NESTED_ENUM(Align, far_left, right)
  friend constexpr EnumStyle enum_style(Align) { return EnumStyle::spaced; }
};

}  // namespace railweave::sample

namespace railweave {
namespace {

using sample::DeviceWord;
using sample::Generation;
using sample::Level;
using sample::Sparse;
using sample::Table;

// Everything is known at compile time.
static_assert(to_text(Level::leaf_group) == "leafGroup");
static_assert(parse_enum<Level>("nvlinkDomain") == Level::nvlink_domain);
static_assert(enum_texts<Level>() == "nvlinkDomain, node, leafGroup");

template <class E>
void expect_texts_read_back() {
  ASSERT_FALSE(enum_values<E>().empty());
  for (const E value : enum_values<E>()) {
    if (to_text(value).empty()) continue;  // written, never read
    EXPECT_EQ(parse_enum<E>(to_text(value)), value) << to_text(value);
  }
}

TEST(EnumText, EveryTextReadsBackAsItsValue) {
  expect_texts_read_back<Level>();
  expect_texts_read_back<DeviceWord>();
  expect_texts_read_back<Generation>();
  expect_texts_read_back<Sparse>();
  expect_texts_read_back<Table::Align>();
}

TEST(EnumText, StylesAreSetPerEnum) {
  EXPECT_EQ(to_text(Generation::fdr10), "FDR10");
  EXPECT_EQ(to_text(Sparse::big_value), "big-value");
  EXPECT_EQ(to_text(Table::Align::far_left), "far left");
}

TEST(EnumText, ExceptionsReplaceSingleTexts) {
  EXPECT_EQ(to_text(DeviceWord::link), "link");
  EXPECT_EQ(to_text(DeviceWord::network_switch), "switch");
  EXPECT_FALSE(parse_enum<DeviceWord>("networkSwitch"));
}

TEST(EnumText, AnEmptyTextIsWrittenButNeitherReadNorListed) {
  EXPECT_EQ(to_text(DeviceWord::unknown), "");
  EXPECT_FALSE(parse_enum<DeviceWord>(""));
  EXPECT_EQ(enum_texts<DeviceWord>(), "link, switch");
}

TEST(EnumText, OnlyTheExactTextIsRead) {
  EXPECT_FALSE(parse_enum<Level>("NODE"));
  EXPECT_FALSE(parse_enum<Level>("node "));
  EXPECT_FALSE(parse_enum<Level>("leaf_group"));
  EXPECT_FALSE(parse_enum<Generation>("sdr"));
}

TEST(EnumText, ValuesOutsideOfTheListHaveNoText) {
  EXPECT_EQ(to_text(static_cast<Level>(17)), "");
  EXPECT_EQ(to_text(static_cast<Sparse>(0)), "");
}

}  // namespace
}  // namespace railweave
