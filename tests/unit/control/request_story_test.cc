// The log tells of a request by its id: the events that it made, their append, the answer; or why it was refused.
#include <string>

#include "tests/support/kept_log.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::request_story_test {
namespace {

class RequestStoryTest : public ControlTest {
 protected:
  void start_with(const std::string& levels) {
    ControlOptions options;
    options.log = log::Log(kept_, log::Levels::parse(levels).value()).of(log::Subject::control);
    start(std::move(options));
  }
  CommandResult ask_as(const std::string& request, decltype(Command::body) body) {
    std::promise<CommandResult> answer;
    auto future = answer.get_future();
    EXPECT_TRUE(loop_->submit({"alice", std::move(body), {.request_id = request}},
                              [&](CommandResult result) { answer.set_value(std::move(result)); }));
    return future.get();
  }
  const std::shared_ptr<log::testing::KeptLines> kept_ = std::make_shared<log::testing::KeptLines>();
};

TEST_F(RequestStoryTest, FromTheEventToTheAnswer) {
  start_with("control=debug");
  ASSERT_TRUE(ask_as("r-1", PutTenant{{.name = "research"}, {}}));
  ASSERT_TRUE(ask_as("r-2", PutTenant{{.name = "other"}, {}}));
  stop();
  const auto told = kept_->with("request=r-1 ");
  ASSERT_EQ(told.size(), 2U) << ::testing::PrintToString(kept_->lines());
  EXPECT_EQ(told[0], "debug control request=r-1 event 1 tenant.put tenant research by alice");
  EXPECT_EQ(told[1], "debug control request=r-1 answered alice");
  EXPECT_EQ(kept_->with("events 1 to 1 appended in ").size(), 1U);
}

TEST_F(RequestStoryTest, ARefusalSaysWhy) {
  start_with("control=debug");
  ASSERT_FALSE(ask_as("r-1", RemoveTenant{"nothing", {}}));
  stop();
  const auto told = kept_->with("request=r-1 ");
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(told[0].starts_with("debug control request=r-1 refused alice: tenants.")) << told[0];
}

TEST_F(RequestStoryTest, IsNotToldAtInfo) {
  start_with("info");
  ASSERT_TRUE(ask_as("r-1", PutTenant{{.name = "research"}, {}}));
  stop();
  EXPECT_TRUE(kept_->with("r-1").empty());
}

}  // namespace
}  // namespace railweave::control::request_story_test
