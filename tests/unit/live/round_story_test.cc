// The log tells what a controller saw and did, in order, and one id joins it.
#include <algorithm>
#include <string>
#include <vector>

#include "services/control/live/subnet_controller.h"
#include "tests/support/kept_log.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

// What follows "round=" in a line.
std::string round_of(const std::string& line) {
  const auto at = line.find("round=");
  return at == std::string::npos ? "" : line.substr(at + 6, line.find(' ', at) - at - 6);
}

class RoundStoryTest : public LiveTest {
 protected:
  void listen(const std::string& levels) { log_ = log::Log(kept_, log::Levels::parse(levels).value()); }
  const std::shared_ptr<log::testing::KeptLines> kept_ = std::make_shared<log::testing::KeptLines>();
};

TEST_F(RoundStoryTest, TellsOfACutCableFromTheTrapToTheReadingBack) {
  listen("live=debug");
  start_live();
  settle();
  const auto before = kept_->lines().size();
  const Cable cable = uplink(0);
  cut(cable);
  step();
  auto lines = kept_->lines();
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(before));
  ASSERT_FALSE(lines.empty());
  const std::string round = round_of(lines.front());
  EXPECT_EQ(round, controller_->round_id());
  EXPECT_TRUE(round.starts_with("plane-0-")) << round;
  std::size_t at = 0;
  for (const std::string& step :
       {std::string("trap: a link's state changed"), std::string("links: 1 link down"),
        "link " + topology_->link_text(cable.link) + " is down", std::string("routes: others by "),
        std::string("audit: passed"), std::string("write: "), std::string("read back: "),
        std::string("programmed: 1 link down; "), std::string("reports the states of 1 links")}) {
    const auto found = std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(at), lines.end(),
                                    [&](const std::string& line) { return line.contains(step); });
    ASSERT_NE(found, lines.end()) << step << " after line " << at << " of\n" << ::testing::PrintToString(lines);
    EXPECT_EQ(round_of(*found), round);
    EXPECT_TRUE(found->contains(" live subnet=plane-0 ")) << *found;
    at = static_cast<std::size_t>(found - lines.begin());
  }
}

TEST_F(RoundStoryTest, IsShortAtInfoAndSilentWhereNothingHappens) {
  listen("info");
  start_live();
  settle();
  EXPECT_EQ(kept_->with("phase synced").size(), 1U) << ::testing::PrintToString(kept_->lines());
  const auto before = kept_->lines().size();
  settle();
  EXPECT_EQ(kept_->lines().size(), before);
  cut(uplink(0));
  step();
  EXPECT_EQ(kept_->lines().size(), before + 3)
      << "the link, the repair, the phase that is synced again: " << ::testing::PrintToString(kept_->lines());
}

TEST_F(RoundStoryTest, AConnectionThatFailsIsAWarningOnce) {
  listen("info");
  refused_ = Error{ErrorKind::unavailable, "infiniband.noPort", "there is no port", {}, {}};
  start_live();
  for (int i = 0; i < 20; ++i) step(40'000);
  EXPECT_EQ(kept_->with("warn live").size(), 1U) << ::testing::PrintToString(kept_->lines());
}

}  // namespace
}  // namespace railweave::control
