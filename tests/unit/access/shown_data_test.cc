// What is shown of the data of events: of every kind of event that the journal has ever held, all that the contract describes and nothing
// else.
#include "services/rest/access/shown_data.h"

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "services/control/codec/message_json.h"
#include "services/json/strict_json.h"

namespace railweave::api::shown_data_test {
namespace {

struct Line {
  std::string kind;
  Out data;
};
std::vector<Line> golden_events() {
  std::vector<Line> lines;
  std::ifstream file(RAILWEAVE_SOURCE_DIR "/tests/unit/codec/golden/events.txt");
  for (std::string line; std::getline(file, line);) {
    const auto blank = line.find(' ');
    lines.push_back({line.substr(0, blank), Out::parse(line.substr(blank + 1))});
  }
  return lines;
}

// The same with texts in the place of messages: no look at the contract.
Out with_texts(const Out& value) {
  if (value.is_object() && value.contains("parts")) {
    const auto message = message_from_json(Json(value), "");
    EXPECT_TRUE(message) << value.dump();
    return message ? Out(message->whole_text()) : Out();
  }
  Out changed = value;
  for (auto& inner : changed) {
    if (inner.is_structured()) inner = with_texts(inner);
  }
  return changed;
}

// Every object has something more; messages do not, as they are none then.
Out with_more(const Out& value) {
  if (value.is_object() && value.contains("parts")) return value;
  Out changed = value;
  for (auto& inner : changed) {
    if (inner.is_structured()) inner = with_more(inner);
  }
  if (changed.is_object()) {
    changed["TheirSecret"] = "THEIRS";
    changed["theirSecrets"] = Out{{"number", "THEIRS"}, {"name", Out::array({"THEIRS"})}};
  }
  return changed;
}

// Whose keys a user chose.
bool has_map(const Out& value) {
  if (value.is_object() && value.contains("nodeSelector")) return true;
  for (const auto& inner : value) {
    if (inner.is_structured() && has_map(inner)) return true;
  }
  return false;
}

TEST(ShownData, IsAllThatTheContractDescribes) {
  std::set<std::string> kept_back;
  for (const Line& line : golden_events()) {
    Out expected = with_texts(line.data);
    for (const auto& [kind, secret] : {std::pair("token.issued", "sha256"), std::pair("webhook.put", "secret")}) {
      if (line.kind == kind && expected.erase(secret) > 0) kept_back.insert(secret);
    }
    EXPECT_EQ(dump(shown_data(line.kind, line.data, MessageReader::all(), false)), dump(expected)) << line.kind;
  }
  EXPECT_EQ(kept_back.size(), 2U);
}

TEST(ShownData, HasNothingThatTheContractDoesNotDescribe) {
  std::size_t with_maps = 0;
  for (const Line& line : golden_events()) {
    if (has_map(line.data)) {
      ++with_maps;
      continue;
    }
    const Out more = with_more(line.data);
    EXPECT_NE(dump(more).find("THEIRS"), std::string::npos) << line.kind;
    EXPECT_EQ(dump(shown_data(line.kind, more, MessageReader::all(), false)),
              dump(shown_data(line.kind, line.data, MessageReader::all(), false)))
        << line.kind;
  }
  EXPECT_LT(with_maps, 10U);
}

// A value of another form than the contract's is left out, not shown in part.
TEST(ShownData, HasNoOtherForms) {
  const auto shown = [](std::string_view kind, const Out& data) {
    return dump(shown_data(kind, data, MessageReader::all(), false));
  };
  EXPECT_EQ(shown("job.evicted", {{"number", {{"secret", 1}}}, {"lostGpuSeconds", 5}}), R"({"lostGpuSeconds":5})");
  EXPECT_EQ(shown("job.evicted", {{"number", Out::array({1})}}), "{}");
  EXPECT_EQ(shown("job.damaged", {{"lost", "all"}}), "{}");
  EXPECT_EQ(shown("job.damaged", {{"lost", {"node-1/0", {{"a", 1}}}}}), R"({"lost":["node-1/0"]})");
  EXPECT_EQ(shown("job.placed", {{"spec", "text"}, {"number", 1}}), R"({"number":1})");
  EXPECT_EQ(shown("job.ofANewerVersion", {{"number", 1}}), "{}");
  EXPECT_EQ(shown("event.damaged", {{"number", 1}}), "{}");
  EXPECT_EQ(shown("job.evicted", Out::array({1})), "{}");
}

}  // namespace
}  // namespace railweave::api::shown_data_test
