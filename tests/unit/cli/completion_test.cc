#include "services/railweave/command_line/completion.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <gtest/gtest.h>

#include "services/railweave/command_line/command_tree.h"
#include "tests/unit/cli/railweave_process.h"

namespace railweave::cli {
namespace {

// What completing `words` offers, through the real tree.
std::vector<std::string> offered(std::vector<std::string> words) {
  words.insert(words.begin(), "__complete");
  const Finished finished = run_railweave(words);
  EXPECT_EQ(finished.exit_code, 0);
  std::vector<std::string> texts;
  std::size_t start = 0;
  while (start < finished.out.size()) {
    const std::size_t end = finished.out.find('\n', start);
    const std::string line = finished.out.substr(start, end - start);
    texts.push_back(line.substr(0, line.find('\t')));
    start = end + 1;
  }
  return texts;
}

bool contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::ranges::find(texts, text) != texts.end();
}

TEST(Completion, OffersTheCommandsOfTheRealTree) {
  const auto top = offered({""});
  for (const char* command : {"fabric", "nodes", "place", "jobs", "lab", "status", "completion"}) {
    EXPECT_TRUE(contains(top, command)) << command;
  }
  EXPECT_EQ(offered({"jobs", "s"}), (std::vector<std::string>{"submit", "show"}));
  EXPECT_EQ(offered({"lab", "generate", "drag"}), (std::vector<std::string>{"dragonfly", "dragonfly-plus"}));
  EXPECT_TRUE(offered({"nonsense-"}).empty());
}

TEST(Completion, OffersOptionsAndTheirValues) {
  EXPECT_TRUE(contains(offered({"place", "--"}), "--tp"));
  EXPECT_TRUE(contains(offered({"place", "--"}), "--output"));
  EXPECT_EQ(offered({"nodes", "list", "-o", ""}),
            (std::vector<std::string>{"table", "wide", "json", "yaml", "name", "jsonpath=", "custom-columns="}));
  EXPECT_EQ(offered({"nodes", "list", "--output=j"}),
            (std::vector<std::string>{"--output=json", "--output=jsonpath="}));
  EXPECT_EQ(offered({"-o", "json", "nodes", "l"}), (std::vector<std::string>{"list"}));
  EXPECT_TRUE(contains(offered({"lab", "generate", "fat-tree", "--ov"}), "--oversubscription"));
}

TEST(Completion, AsksForFilesWhereFilesAreWanted) {
  EXPECT_TRUE(contains(offered({"fabric", "import", ""}), ":files"));
  EXPECT_TRUE(contains(offered({"lab", "place", "-f", ""}), ":files"));
  EXPECT_FALSE(contains(offered({"nodes", "show", ""}), ":files"));
}

TEST(Completion, AValueThatLooksLikeACommandIsNoCommand) {
  EXPECT_TRUE(contains(offered({"jobs", "list", "--tenant", "show", "--st"}), "--state"));
}

TEST(Completion, BashScriptCompletesInABash) {
  if (!std::filesystem::exists("/bin/bash")) GTEST_SKIP() << "no bash";
  const std::string script = scratch_file("complete.sh", R"(
set -e
PATH=)" RAILWEAVE_BINARY_DIR R"(/bin:$PATH
source <(railweave completion bash)
try() {
  COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
  _railweave
  echo "${COMPREPLY[*]}"
}
try railweave jo
try railweave nodes list -o ""
try railweave lab fabric /et
)");
  FILE* pipe = popen(("/bin/bash " + script + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string out;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) out += buffer;
  EXPECT_EQ(pclose(pipe), 0) << out;
  EXPECT_EQ(out, "jobs\ntable wide json yaml name jsonpath= custom-columns=\n/etc\n");
}

TEST(Completion, HasAScriptForEachShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished finished = run_railweave({"completion", shell});
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_NE(finished.out.find("railweave __complete") + finished.out.find("__complete"), 2 * std::string::npos);
  }
  EXPECT_EQ(completion_script("tcsh"), "");
}

}  // namespace
}  // namespace railweave::cli
