#include "fabric/base/process/program.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railweave {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

Program shell(std::string script) {
  return {.arguments = {"sh", "-c", std::move(script)}, .timeout = milliseconds(20'000)};
}

TEST(Program, GetsItsWordsAsTheyAre) {
  const auto end = run_program({.arguments = {"printf", "%s|", "a b;$c", "", "'"}});
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->is_success());
  EXPECT_EQ(end->output, "a b;$c||'|");
}

TEST(Program, ReadsMoreThanAPipeHoldsAndPrintsIt) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += std::to_string(i) + "\n";
  const auto end = run_program({.arguments = {"cat"}, .input = text, .timeout = milliseconds(60'000)});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output, text);
  EXPECT_EQ(run_program({.arguments = {"cat"}})->output, "") << "nothing to read, no terminal of ours";
}

TEST(Program, SaysHowItEnded) {
  const auto failed = run_program(shell("echo no such job >&2; echo half; exit 7"));
  ASSERT_TRUE(failed);
  EXPECT_FALSE(failed->is_success());
  EXPECT_EQ(failed->exit_code, 7);
  EXPECT_EQ(failed->errors, "no such job\n");
  EXPECT_EQ(failed->output, "half\n");
  EXPECT_EQ(failed->how(), "failed with exit code 7");
  const auto killed = run_program(shell("kill -TERM $$"));
  ASSERT_TRUE(killed);
  EXPECT_FALSE(killed->is_success());
  EXPECT_EQ(killed->signal, SIGTERM);
  EXPECT_EQ(killed->how(), "was ended by signal 15");
}

TEST(Program, IsKilledWhereItIsLateOrPrintsTooMuch) {
  const auto late = run_program({.arguments = {"sleep", "60"}, .timeout = milliseconds(100)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, "program.late");
  EXPECT_EQ(late.error().message, "sleep did not end within 0.1 s");
  for (const char* script : {"yes", "yes >&2", "head -c 200 /dev/zero"}) {
    Program much = shell(script);
    much.max_output = 100;
    EXPECT_EQ(run_program(much).error().code, "program.printsTooMuch") << script;
  }
  Program enough = shell("head -c 100 /dev/zero");
  enough.max_output = 100;
  EXPECT_EQ(run_program(enough)->output.size(), 100U);
}

TEST(Program, IsKilledWithWhatItStarted) {
  const std::string file = (std::filesystem::temp_directory_path() / "railweave-program-XXXXXX").string();
  std::string name = file;
  const int made = ::mkstemp(name.data());
  ASSERT_GE(made, 0);
  Program late = shell("(sleep 1; echo alive > " + name + ") & wait");
  late.timeout = milliseconds(50);
  EXPECT_EQ(run_program(late).error().code, "program.late");
  std::this_thread::sleep_for(milliseconds(1'500));
  EXPECT_EQ(std::filesystem::file_size(name), 0U) << "what it started went on";
  std::filesystem::remove(name);
}

TEST(Program, IsNotWaitedForThroughWhatItLeavesRunning) {
  Program leaving = shell("sleep 60 & echo started");
  const auto end = run_program(leaving);
  ASSERT_TRUE(end) << "its child has the pipe still";
  EXPECT_EQ(end->output, "started\n");
}

TEST(Program, PrintsToStderrWhereAsked) {
  Program telling = shell("echo to stdout; echo to stderr >&2");
  telling.to_stderr = true;
  testing::internal::CaptureStderr();
  const auto end = run_program(telling);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "to stdout\nto stderr\n");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output + end->errors, "");
}

TEST(Program, ThatIsNotThereIsSaid) {
  const auto missing = run_program({.arguments = {"/no/such/program"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, "program.cannotStart");
  EXPECT_THAT(missing.error().message, HasSubstr("/no/such/program cannot be started: No such file"));
}

}  // namespace
}  // namespace railweave
