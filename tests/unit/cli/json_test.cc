#include "services/railweave/terminal/json.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "services/railweave/terminal/yaml_text.h"

namespace railweave::cli {
namespace {

TEST(ParseJson, NamesLineAndColumn) {
  const auto parsed = parse_json("{\n  \"a\": 1,,\n}", "job.json");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().location, "job.json: line 2, column 10");
  EXPECT_TRUE(parsed.error().message.starts_with("not JSON: ")) << parsed.error().message;
}

TEST(ParseJson, RefusesDeepNestingAndRubbishWithoutFallingOver) {
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(parse_json(std::string(65, '[') + std::string(65, ']')));
  EXPECT_TRUE(parse_json(R"(["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[["])"));
  for (const char* text : {"", "{", "\"\xff\"", "{\"a\":1e999}", "nul", "\x1b[2J"}) {
    const auto parsed = parse_json(text);
    EXPECT_FALSE(parsed) << text;
    if (!parsed) {
      EXPECT_EQ(parsed.error().message.find('\x1b'), std::string::npos);
    }
  }
}

TEST(AnswerFields, ReadWhateverIsThere) {
  const Json answer =
      Json::parse(R"({"s":"x","empty":"","n":7,"f":400.0,"g":0.125,"b":true,"z":null,"neg":-1,"l":["a","b","c"]})");
  EXPECT_EQ(text_of(answer, foreign("s")), "x");
  EXPECT_EQ(text_of(answer, foreign("empty")), "-");
  EXPECT_EQ(text_of(answer, foreign("n")), "7");
  EXPECT_EQ(text_of(answer, foreign("f")), "400");
  EXPECT_EQ(text_of(answer, foreign("g")), "0.125");
  EXPECT_EQ(text_of(answer, "b"), "yes");
  EXPECT_EQ(text_of(answer, foreign("z")), "-");
  EXPECT_EQ(text_of(answer, foreign("absent")), "-");
  EXPECT_EQ(text_of(answer, foreign("l")), "-");
  EXPECT_EQ(text_of(Json(3), foreign("s")), "-");
  EXPECT_EQ(count_of(answer, foreign("n")), 7U);
  EXPECT_EQ(count_of(answer, foreign("neg")), 0U);
  EXPECT_EQ(count_of(answer, foreign("s")), 0U);
  EXPECT_TRUE(list(answer, foreign("s")).empty());
  EXPECT_EQ(joined(list(answer, foreign("l"))), "a, b, c");
  EXPECT_EQ(joined(list(answer, foreign("l")), 2), "a, b +1");
  EXPECT_EQ(joined(Json()), "-");
}

TEST(JsonText, IsIndentedKeepsOrderAndEscapesWhatSteersTerminals) {
  EXPECT_EQ(json_text(Json::parse(R"({"b":1,"a":"x\u007f\u202e"})")),
            "{\n  \"b\": 1,\n  \"a\": \"x\\u007f\\u202e\"\n}\n");
}

// yaml-cpp reads what we write: the same structure, strings stay strings.
void expect_same(const YAML::Node& yaml, const Json& json) {
  if (json.is_object()) {
    ASSERT_TRUE(yaml.IsMap());
    ASSERT_EQ(yaml.size(), json.size());
    for (const auto& [name, value] : json.items()) expect_same(yaml[name], value);
  } else if (json.is_array()) {
    ASSERT_TRUE(yaml.IsSequence());
    ASSERT_EQ(yaml.size(), json.size());
    for (std::size_t i = 0; i < json.size(); ++i) expect_same(yaml[i], json[i]);
  } else if (json.is_null()) {
    EXPECT_TRUE(yaml.IsNull());
  } else if (json.is_string()) {
    EXPECT_EQ(yaml.Scalar(), json.get<std::string>());
    const bool quoted = yaml.Tag() == "!";
    int ignored = 0;
    bool truth = false;
    if (!quoted) {
      EXPECT_FALSE(YAML::convert<int>::decode(yaml, ignored)) << yaml.Scalar() << " would read as a number";
      EXPECT_FALSE(YAML::convert<bool>::decode(yaml, truth)) << yaml.Scalar() << " would read as true or false";
    }
  } else {
    EXPECT_EQ(yaml.Scalar(), json.dump());
    EXPECT_NE(yaml.Tag(), "!") << "numbers are not quoted";
  }
}

TEST(YamlText, ReadsBackAsTheSameValue) {
  const Json value = Json::parse(R"({
    "items": [{"id": "job-000001", "gpus": 96, "nodes": ["dgx-1", "dgx-2"], "ended": null, "share": 0.5}, {}],
    "strings": ["true", "No", "y", "null", "~", "12", "1e5", "0x1f", "0c42a1", "e09d73", "", " a", "a ", "- a", "a: b", "a #b",
                "*x", "&x", "!x", "%x", "@x", "`x", "'x'", "\"x\"", "{x}", "[x]", "a,b", ".inf", "1:30", "line\nbreak", "tab\t",
                "2026-11-21T09:00:00Z", "=", "?", "|", ">", "Käfer", "节点", "a\\b", "\u0001\u007f\u009b\u202e", "off", "<<"],
    "yes": false, "12": {"deep": [[1, 2], [3]]}, "none": [], "empty": {}
  })");
  const std::string text = yaml_text(value);
  expect_same(YAML::Load(text), value);
  for (const char c : text) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
  EXPECT_EQ(text.find('\x7f'), std::string::npos);
}

}  // namespace
}  // namespace railweave::cli
