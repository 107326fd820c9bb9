#include "db/compression.h"

#include <gtest/gtest.h>

#include "db/limits.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/sample_records.h"

namespace railweave::db::compression_test {
namespace {

TEST(Compression, BytesComeBack) {
  for (const std::size_t size : {0U, 1U, 100U, 1'000'000U}) {
    for (const std::string& raw : {random_bytes(size, size), sample_document(size), std::string(size, 'a')}) {
      EXPECT_TRUE(take(decompress(compress(raw), raw.size())) == raw);
    }
  }
}

TEST(Compression, AStreamOfAnotherLengthOrWithDamageOrMoreBehindItIsRefused) {
  const std::string raw = sample_document(10'000);
  const std::string packed = compress(raw);
  EXPECT_EQ(code_of(decompress(packed, raw.size() - 1)), "db.damaged");
  EXPECT_EQ(code_of(decompress(packed, raw.size() + 1)), "db.damaged");
  EXPECT_EQ(code_of(decompress(packed, 0)), "db.damaged");
  EXPECT_EQ(code_of(decompress(packed + "x", raw.size())), "db.damaged");
  EXPECT_EQ(code_of(decompress("", raw.size())), "db.damaged");
  EXPECT_EQ(code_of(decompress("", 0)), "db.damaged");
  for (std::size_t size = 0; size < packed.size(); size += 13) {
    EXPECT_EQ(code_of(decompress(packed.substr(0, size), raw.size())), "db.damaged");
  }
  for (std::size_t at = 0; at < packed.size(); ++at) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto unpacked = decompress(damaged, raw.size());
    if (unpacked) {
      EXPECT_TRUE(*unpacked == raw) << at;
    }
  }
}

TEST(Compression, AStreamThatUnpacksToVeryMuchTakesNoMoreThanPromised) {
  const std::string bomb = compress(std::string(100'000'000, '\0'));
  EXPECT_LT(bomb.size(), 1'000'000U);
  EXPECT_EQ(code_of(decompress(bomb, 1000)), "db.damaged");
}

TEST(Compression, OnlyLongTextThatShrinksIsPacked) {
  EXPECT_FALSE(PackedText(std::string(kCompressAboveBytes, 'a')).compressed());
  const std::string text(kCompressAboveBytes + 1, 'a');
  const PackedText packed(text);
  EXPECT_TRUE(packed.compressed());
  EXPECT_LT(packed.bytes().size(), 10'000U);
  EXPECT_EQ(packed.raw_bytes(), text.size());
  const std::string noise = random_bytes(kCompressAboveBytes + 1, 1);
  EXPECT_FALSE(PackedText(noise).compressed());
  EXPECT_TRUE(PackedText(noise).bytes() == noise);
}

}  // namespace
}  // namespace railweave::db::compression_test
