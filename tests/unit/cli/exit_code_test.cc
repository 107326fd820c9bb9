#include "services/railweave/terminal/exit_code.h"

#include <set>

#include <gtest/gtest.h>

#include "services/railweave/command_line/help_text.h"
#include "services/railweave/connection/service.h"

namespace railweave::cli {
namespace {

ExitCode of(ErrorKind kind, const std::string& code = "any.code") { return exit_code_of({kind, code, "", "", ""}); }

TEST(ExitCode, FollowsTheKindOfTheError) {
  EXPECT_EQ(of(ErrorKind::malformed), ExitCode::invalid_input);
  EXPECT_EQ(of(ErrorKind::invalid), ExitCode::invalid_input);
  EXPECT_EQ(of(ErrorKind::tooLarge), ExitCode::invalid_input);
  EXPECT_EQ(of(ErrorKind::impossible), ExitCode::never);
  EXPECT_EQ(of(ErrorKind::notFound), ExitCode::not_found);
  EXPECT_EQ(of(ErrorKind::conflict), ExitCode::conflict);
  EXPECT_EQ(of(ErrorKind::precondition), ExitCode::conflict);
  EXPECT_EQ(of(ErrorKind::busy), ExitCode::unavailable);
  EXPECT_EQ(of(ErrorKind::unavailable), ExitCode::unavailable);
  EXPECT_EQ(of(ErrorKind::internal), ExitCode::internal);
}

TEST(ExitCode, TellsAServiceThatIsNotThereFromOneThatIsBusy) {
  EXPECT_EQ(of(ErrorKind::unavailable, "client.cannotConnect"), ExitCode::unreachable);
  EXPECT_EQ(of(ErrorKind::malformed, "client.notJson"), ExitCode::unreachable);
  EXPECT_EQ(of(ErrorKind::unavailable, "service.starting"), ExitCode::unavailable);
  EXPECT_EQ(of(ErrorKind::invalid, "client.badUrl"), ExitCode::usage);
}

TEST(ExitCode, TellsNotNowFromNever) {
  EXPECT_EQ(exit_code_of_outcome("placed"), ExitCode::ok);
  EXPECT_EQ(exit_code_of_outcome("notNow"), ExitCode::not_now);
  EXPECT_EQ(exit_code_of_outcome("never"), ExitCode::never);
  EXPECT_EQ(exit_code_of_outcome("-"), ExitCode::internal);
}

TEST(ExitCode, EveryCodeIsExplainedOnceInTheHelp) {
  std::set<int> seen;
  for (const auto& [code, meaning] : exit_code_meanings()) {
    EXPECT_TRUE(seen.insert(static_cast<int>(code)).second);
    EXPECT_NE(root_footer().find(std::string(meaning)), std::string::npos);
  }
  EXPECT_EQ(seen.size(), 12U);
  EXPECT_EQ(*seen.rbegin(), 11);
}

TEST(ProblemError, SaysWhatTheProblemDocumentSays) {
  const Error error =
      problem_error(400,
                    R"({"status":400,"code":"jobs.invalid","detail":"must be at least 1","hint":"1 turns it off",)"
                    R"("errors":[{"pointer":"/parallelism/tensor","detail":"must be at least 1"}]})",
                    "http://x");
  EXPECT_EQ(error.text(), "--tp: must be at least 1 (1 turns it off)");
  EXPECT_EQ(error.code, "jobs.invalid");
  EXPECT_EQ(exit_code_of(error), ExitCode::invalid_input);
}

TEST(ProblemError, SurvivesAnswersThatAreNoProblemDocuments) {
  for (const char* body : {"", "<html>", "[]", "{}", R"({"detail": 7})", "null"}) {
    const Error error = problem_error(502, body, "http://x:1");
    EXPECT_EQ(exit_code_of(error), ExitCode::unreachable) << body;
    EXPECT_NE(error.message.find("status 502"), std::string::npos);
  }
  EXPECT_EQ(exit_code_of(problem_error(404, "gone", "http://x")), ExitCode::not_found);
}

}  // namespace
}  // namespace railweave::cli
