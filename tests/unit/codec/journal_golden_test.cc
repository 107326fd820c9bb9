// The durable form of every kind of event and of a state that has something in every part: what is written today is what
// was written before, and reads back as what it was. golden/events.txt has a line per event: its kind and its data.
// golden/state.json is the snapshot after them.
//
// RAILWEAVE_REWRITE=1 unit_codec --gtest_filter='JournalGolden.*' writes the files as the code writes them now; a
// difference is a change of the journal's format, which older and newer versions must both be able to read.
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "fabric/formats/read_fabric.h"
#include "services/control/codec/journal_codec.h"
#include "services/control/events/apply.h"
#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api::journal_golden_test {
namespace {

const std::string kFolder = RAILWEAVE_SOURCE_DIR "/tests/unit/codec/golden/";

std::string contents(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

void write(const std::string& name, const std::string& text) {
  std::ofstream(kFolder + name, std::ios::binary) << text;
}

bool rewriting() { return std::getenv("RAILWEAVE_REWRITE") != nullptr; }

Result<std::optional<std::string>> blob(const std::string& digest) {
  if (digest != "d1") return std::nullopt;
  return contents("topology.json");
}

struct Line {
  std::string kind, data;
};
std::vector<Line> event_lines() {
  std::vector<Line> lines;
  std::istringstream text(contents("events.txt"));
  for (std::string line; std::getline(text, line);) {
    const auto blank = line.find(' ');
    lines.push_back({line.substr(0, blank), line.substr(blank + 1)});
  }
  return lines;
}

// The data alone: summaries are texts for people and may change.
std::string data_of(const control::EncodedEvent& encoded) {
  const auto payload = Out::parse(encoded.record.payload);
  return dump(payload["data"]);
}

TEST(JournalGolden, EventsOfEveryKindKeepTheirForm) {
  const JournalCodec codec;
  control::ClusterState state;
  std::set<std::size_t> kinds;
  std::string written;
  const auto lines = event_lines();
  ASSERT_FALSE(lines.empty());
  for (const auto& [kind, data] : lines) {
    const std::uint64_t seq = state.seq + 1;
    const db::Record record{seq, 1, 1'700'000'000'000'000, "local", kind, 1, "", "", R"({"data":)" + data + "}"};
    auto event = codec.decode(record, state, blob);
    ASSERT_TRUE(event) << kind << ": " << event.error().text();
    if (auto* accepted = std::get_if<control::TopologyAccepted>(&event->body)) {
      accepted->document = std::make_shared<const std::string>(contents("topology.json"));
    }
    kinds.insert(event->body.index());
    control::apply(state, *event);
    const auto encoded = codec.encode(*event, state);
    EXPECT_EQ(encoded.record.kind, kind);
    if (!rewriting()) {
      EXPECT_EQ(data_of(encoded), data) << kind;
    }
    written += encoded.record.kind + " " + data_of(encoded) + "\n";
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<control::EventBody>) << "events.txt lacks a kind of event";
  if (!rewriting()) return;
  write("events.txt", written);
  write("state.json", codec.encode_state(state) + "\n");
}

TEST(JournalGolden, TheStateKeepsItsForm) {
  std::string text = contents("state.json");
  ASSERT_FALSE(text.empty());
  text.pop_back();  // the newline
  const JournalCodec codec;
  const auto state = codec.decode_state({.seq = 50, .term = 1, .version = 1, .payload = text}, blob);
  ASSERT_TRUE(state) << state.error().text();
  EXPECT_EQ(codec.encode_state(*state), text);
  EXPECT_FALSE(state->tenants->empty());
  EXPECT_FALSE(state->contracts->empty());
  EXPECT_FALSE(state->reservations->empty());
  EXPECT_FALSE(state->drains->empty());
  EXPECT_FALSE(state->alarms->empty());
  EXPECT_FALSE(state->mutes->empty());
  EXPECT_FALSE(state->ended->empty());
  EXPECT_FALSE(state->guaranteed->empty());
  EXPECT_FALSE(state->link_costs->by_link.empty());
  EXPECT_FALSE(state->subnet_policies->empty());
  EXPECT_FALSE(state->subnet_spreads->empty());
  EXPECT_FALSE(state->webhooks->empty());
  EXPECT_EQ(state->jobs.size(), 7U);
}

TEST(JournalGolden, TheFormerNameOfMinRuntimeIsRead) {
  std::string text = contents("state.json");
  const auto at = text.find("minRuntime");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string_view("minRuntime").size(), "leastRun");
  const JournalCodec codec;
  const auto state = codec.decode_state({.seq = 50, .term = 1, .version = 1, .payload = text}, blob);
  ASSERT_TRUE(state) << state.error().text();
  EXPECT_EQ(codec.encode_state(*state) + "\n", contents("state.json"));
}

}  // namespace
}  // namespace railweave::api::journal_golden_test
