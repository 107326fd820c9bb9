#include "fabric/formats/text/json_reader.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fabric/base/text/json_string.h"

namespace railweave::fabric::json_reader_test {
namespace {

bool accepts(std::string_view text) {
  JsonReader json(text, "");
  return json.skip_value() && json.end();
}

std::string error_of(std::string_view text) {
  JsonReader json(text, "f.json");
  if (json.skip_value()) json.end();
  return json.error().text();
}

// A random document, damaged at a few places half of the time.
std::string random_text(std::mt19937& random) {
  const auto below = [&](unsigned bound) { return random() % bound; };
  const auto value = [&](const auto& self, int depth) -> std::string {
    switch (depth > 4 ? below(6) : below(9)) {
      case 0:
        return "null";
      case 1:
        return below(2) == 0 ? "true" : "false";
      case 2:
        return std::to_string(static_cast<int>(below(2000)) - 1000);
      case 3:
        return "-0.5e+3";
      case 4:
        return R"("a\u00e9\ud83d\ude00\n\"\\")";
      case 5:
        return "\"\xc3\xa9\"";
      case 6: {
        std::string text = "[";
        for (unsigned n = below(4); n > 0; --n) text += self(self, depth + 1) + (n > 1 ? " , " : "");
        return text + "]";
      }
      default: {
        std::string text = "{";
        for (unsigned n = below(4); n > 0; --n)
          text += "\"k" + std::to_string(n) + "\":" + self(self, depth + 1) + (n > 1 ? "," : "");
        return text + "}";
      }
    }
  };
  std::string text = value(value, 0);
  static constexpr std::string_view kDamage = "{}[]\",:0-.eEu\\ tfn\n\x01\x80\xc3";
  for (unsigned n = below(2) * below(4); n > 0; --n) {
    const std::size_t at = below(static_cast<unsigned>(text.size()) + 1);
    const char c = kDamage[below(static_cast<unsigned>(kDamage.size()))];
    switch (below(3)) {
      case 0:
        text.insert(at, 1, c);
        break;
      case 1:
        text.erase(at, 1);
        break;
      default:
        if (at < text.size()) text[at] = c;
    }
  }
  return text;
}

TEST(JsonReader, AcceptsWhatAnotherParserAccepts) {
  std::mt19937 random(11);
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (int i = 0; i < 50'000; ++i) {
    const std::string text = random_text(random);
    const bool ours = accepts(text);
    ASSERT_EQ(ours, nlohmann::json::accept(text)) << text << "\n" << error_of(text);
    ++(ours ? accepted : refused);
  }
  EXPECT_GT(accepted, 10'000U);
  EXPECT_GT(refused, 5'000U);
}

TEST(JsonReader, ReadsStringsAsAnotherParserDoes) {
  std::mt19937 random(12);
  for (int i = 0; i < 5'000; ++i) {
    nlohmann::json list = nlohmann::json::array();
    for (unsigned n = random() % 5; n > 0; --n) {
      std::string text;
      for (unsigned c = random() % 8; c > 0; --c) {
        static const std::vector<std::string> kPieces{
            "a", "\"", "\\", "/", "\n", "\x01", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x9a\x84"};
        text += kPieces[random() % kPieces.size()];
      }
      list.push_back(text);
    }
    const std::string document = list.dump(-1, ' ', random() % 2 == 0);
    std::vector<std::string> read;
    JsonReader json(document, "");
    ASSERT_TRUE(json.array([&] { return json.string(read.emplace_back()); })) << json.error().text();
    EXPECT_EQ(read, list.get<std::vector<std::string>>());
  }
}

TEST(JsonText, WritesStringsThatAnotherParserReads) {
  std::mt19937 random(13);
  for (int i = 0; i < 5'000; ++i) {
    std::string text;
    for (unsigned n = random() % 10; n > 0; --n) text += static_cast<char>(random() % 0x80);
    std::string written;
    append_json_string(written, text);
    EXPECT_EQ(nlohmann::json::parse(written).get<std::string>(), text);
  }
  std::string written;
  append_json_string(written, "\xff\xc3\xa9");
  EXPECT_EQ(written, "\"\xef\xbf\xbd\xc3\xa9\"");
}

TEST(JsonReader, SaysWhereAndWhat) {
  EXPECT_EQ(error_of("{\n \"a\": 1,\n \"b\" 2}"), "f.json: line 3, column 6: expected ':'");
  EXPECT_EQ(error_of("[1, 2"), "f.json: line 1, column 6: the text ends within an array");
  EXPECT_EQ(error_of("[1 2]"), "f.json: line 1, column 4: expected ',' or ']'");
  EXPECT_EQ(error_of("\"abc"), "f.json: line 1, column 1: the string is never closed");
  EXPECT_EQ(error_of("\"a\tb\""), "f.json: line 1, column 3: control character in a string; write it as an escape");
  EXPECT_EQ(error_of("\"\\ud800x\""), "f.json: line 1, column 2: half of a surrogate pair in a string");
  EXPECT_EQ(error_of("[] []"), "f.json: line 1, column 4: unexpected text after the end of the document");
  EXPECT_EQ(error_of(""), "f.json: line 1, column 1: expected a value");
  EXPECT_EQ(error_of(std::string(100, '[')), "f.json: line 1, column 65: nested too deeply");
}

TEST(JsonReader, IsStrictAboutFieldsAndNumbers) {
  const auto read = [](std::string_view text) {
    JsonReader json(text, "");
    std::uint64_t number = 0;
    float decimal = 0;
    std::string name;
    bool flag = false;
    json.object([&](std::string_view field) {
      if (field == "n") return json.whole_number(number, 10);
      if (field == "d") return json.decimal(decimal);
      if (field == "s") return json.name(name);
      if (field == "b") return json.boolean(flag);
      return json.unknown_field(field, "this");
    });
    return json.ok() ? "" : json.error().message;
  };
  EXPECT_EQ(read(R"({"n":10,"d":2.5e3,"s":"x","b":true})"), "");
  EXPECT_EQ(read(R"({"n":11})"), "expected a whole number from 0 to 10");
  EXPECT_EQ(read(R"({"n":1.0})"), "expected a whole number from 0 to 10");
  EXPECT_EQ(read(R"({"n":-1})"), "expected a whole number from 0 to 10");
  EXPECT_EQ(read(R"({"n":01})"), "expected a number");
  EXPECT_EQ(read(R"({"n":"1"})"), "expected a number");
  EXPECT_EQ(read(R"({"d":-1})"), "expected a number that is not negative");
  EXPECT_EQ(read(R"({"d":1e99})"), "expected a number that is not negative");
  EXPECT_EQ(read(R"({"b":1})"), "expected true or false");
  EXPECT_EQ(read(R"({"s":"a\u0007"})"), "control character in a name");
  EXPECT_EQ(read("{\"s\":\"" + std::string(2000, 'x') + "\"}"), "a name of more than 1024 bytes");
  EXPECT_EQ(read(R"({"n":1,"n":2})"), "the field 'n' is given twice");
  EXPECT_EQ(read(R"({"zz\u0007":1})"), "unknown field 'zz\\x07' in this");
}

}  // namespace
}  // namespace railweave::fabric::json_reader_test
