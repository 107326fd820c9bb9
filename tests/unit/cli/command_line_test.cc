// Command lines that need neither a service nor a file: help, version, usage errors, closed outputs.
#include <filesystem>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/cli/railweave_process.h"

namespace railweave::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(CommandLine, HelpListsCommandsExamplesAndExitCodes) {
  const Finished finished = run_railweave({"--help"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err, "");
  EXPECT_THAT(finished.out,
              AllOf(HasSubstr("Usage: railweave COMMAND"), HasSubstr("\n  nodes "), HasSubstr("Examples:\n"),
                    HasSubstr("RAILWEAVE_URL"), HasSubstr("   6  the job cannot be placed now")));
}

TEST(CommandLine, WithoutArgumentsIsHelp) {
  const Finished finished = run_railweave({});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, run_railweave({"--help"}).out);
}

TEST(CommandLine, SaysWhatIsWrongInItsOwnWords) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> lines{
      {{"nonsense"}, "there is no command 'nonsense'; choose one of fabric, nodes"},
      {{"nodes", "lost"}, "there is no command 'lost'; did you mean railweave nodes list?"},
      {{"nodes", "list", "extra"}, "'extra' is one argument too many (see railweave nodes list --help)"},
      {{"nodes", "list", "--nonsense"}, "there is no option --nonsense"},
      {{"nodes", "list", "--limit"}, "--limit needs a value"},
      {{"nodes", "lost-and-found"}, "choose one of list, show, set, budgets, drain, undrain"},
      {{"nodse", "list"}, "there is no command 'nodse'; did you mean railweave nodes?"},
      {{"nodes", "list", "--knd", "storage"}, "there is no option --knd; did you mean --kind?"},
      {{"nodes", "show", ""}, "NODE is empty"},
      {{"nodes", "list", "--rack", ""}, "--rack is empty"},
      {{"help", "nodse"}, "there is no command 'nodse'; did you mean railweave nodes?"},
      {{"nodes", "show"}, "NODE is missing"},
      {{"tenants", "set", "x", "--weight", "much"}, "--weight takes a number, not 'much'"},
      {{"tenants", "set", "x", "--max-gpus", "1", "--no-limit"}, "--max-gpus contradicts --no-limit"},
      {{"jobs", "ranks", "job-000001", "--with-script"}, "--with-script needs --format"},
      {{"queue", "defrag", "--steps", "900"}, "--steps takes a number from 0 to 256, not 900"},
      {{"nodes", "list", "-o", "jsonpath={.id"}, "a } is missing"},
      {{"nodes", "list", "-o", "custom-columns=NODE"}, "'NODE' is not TITLE:PATH"},
  };
  for (const auto& [line, expected] : lines) {
    const Finished finished = run_railweave(line);
    EXPECT_EQ(finished.exit_code, 2) << expected;
    EXPECT_THAT(finished.err, HasSubstr(expected));
  }
}

// Visits every command of the tree by completion.
void expect_help_below(const std::vector<std::string>& path, int& commands) {
  auto words = path;
  words.insert(words.begin(), "__complete");
  words.emplace_back("");
  const Finished children = run_railweave(words);
  auto help = path;
  help.emplace_back("--help");
  const Finished finished = run_railweave(help);
  std::string name = "railweave";
  for (const auto& word : path) name += " " + word;
  EXPECT_EQ(finished.exit_code, 0) << name;
  EXPECT_THAT(finished.out, HasSubstr("Usage: " + name)) << name;
  EXPECT_EQ(finished.err, "") << name;
  bool is_leaf = true;
  std::size_t start = 0;
  while (start < children.out.size()) {
    const std::size_t end = children.out.find('\n', start);
    const std::string line = children.out.substr(start, end - start);
    start = end + 1;
    if (line.find('\t') == std::string::npos || line.ends_with('\t')) continue;  // ":files", values
    auto child = path;
    child.push_back(line.substr(0, line.find('\t')));
    is_leaf = false;
    expect_help_below(child, commands);
  }
  if (path.empty()) return;
  if (is_leaf) ++commands;
  EXPECT_THAT(finished.out, HasSubstr("Examples:\n  ")) << name;
  EXPECT_THAT(finished.out, Not(HasSubstr("a fabric to experiment with"))) << name;
  const auto examples = finished.out.find("Examples:\n");
  ASSERT_NE(examples, std::string::npos) << name;
  EXPECT_NE(finished.out.find(name, examples), std::string::npos) << name << " has examples of other commands only";
}

TEST(CommandLine, EveryCommandHasHelpWithAnExample) {
  int commands = 0;
  expect_help_below({}, commands);
  EXPECT_GE(commands, 40);
}

TEST(CommandLine, PrintsItsVersion) {
  const Finished finished = run_railweave({"--version"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.out, testing::MatchesRegex("railweave [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(CommandLine, WrongLinesEndWithExitCodeTwoAndOneLineOnStderr) {
  const std::vector<std::vector<std::string>> lines{
      {"nodes"},
      {"nonsense"},
      {"nodes", "nonsense"},
      {"nodes", "list", "extra"},
      {"nodes", "list", "--nonsense"},
      {"nodes", "list", "-o", "xml"},
      {"nodes", "list", "--limit", "-1"},
      {"nodes", "show"},
      {"place"},
      {"place", "--tp", "eight"},
      {"place", "--gpus", "8", "--tp", "8"},
      {"status", "--timeout", "0"},
      {"status", "--server", "ftp://x"},
      {"status", "--server", "127.0.0.1:7470"},
      {"tenants", "set", "x", "--max-gpus", "1", "--no-limit"},
      {"lab", "place", "x", "--tp", "8", "--nvlink-domain", "8"},
      {"lab", "fabric", "x", "--format", "nonsense"},
      {"lab", "generate"},
      {"lab", "generate", "fat-tree", "--nonsense", "1"},
      {"completion", "tcsh"},
      {"nodes", "list", "\x1b[31m"},
      {"tenants", "set", "x", "--max-gpus", "-1"},
      {"place", "--gpus", "0x10"},
      {"place", "--gpus", "010"},
      {"place", "--gpus", "18446744073709551616"},
      {"jobs", "submit", "--gpus", "8", "--idempotency-key", "a\nX-Forged: b"},
  };
  for (const auto& line : lines) {
    std::string text = "railweave";
    for (const auto& word : line) text += " " + word;
    const Finished finished = run_railweave(line);
    EXPECT_EQ(finished.exit_code, 2) << text << "\n" << finished.err;
    EXPECT_EQ(finished.out, "") << text;
    EXPECT_THAT(finished.err, AllOf(StartsWith("railweave: "), EndsWith("\n"))) << text;
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << text << "\n" << finished.err;
    EXPECT_EQ(finished.err.find('\x1b'), std::string::npos) << text;
  }
}

TEST(CommandLine, AnArgumentMayBeCalledLikeACommand) {
  const Finished finished = run_railweave({"tenants", "show", "list", "--server", "http://127.0.0.1:1"});
  EXPECT_EQ(finished.exit_code, 3) << finished.err;
}

TEST(CommandLine, SaysThatNoServiceAnswersAndWhatToDo) {
  for (const auto& line : std::vector<std::vector<std::string>>{{"status"},
                                                                {"nodes", "list"},
                                                                {"events", "--follow"},
                                                                {"jobs", "submit", "--gpus", "8"},
                                                                {"tenants", "set", "x"}}) {
    const Finished finished = run_railweave(line, {.environment = {"RAILWEAVE_URL=http://127.0.0.1:1"}});
    EXPECT_EQ(finished.exit_code, 3) << line.front();
    EXPECT_THAT(finished.err, AllOf(StartsWith("railweave: "), HasSubstr("127.0.0.1:1"), HasSubstr("is it running?")));
    EXPECT_EQ(finished.out, "");
  }
}

TEST(CommandLine, EndsQuietlyWhenItsReaderHasSeenEnough) {
  const Finished finished = run_railweave({"--help"}, {.closed_stdout = true});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err, "");
}

TEST(CommandLine, SaysWhenItCannotWrite) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const Finished finished = run_railweave({"--help"}, {.stdout_path = "/dev/full"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("cannot write to stdout: No space left"));
}

}  // namespace
}  // namespace railweave::cli
