// Every hint that a service gives in words of REST is shown by the CLI in words of its own: commands that exist.
#include "services/railweave/connection/rest_words.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/cli/railweave_process.h"

namespace railweave::cli {
namespace {

// Literals of a source; those that are joined to one text by + are one, with x for what stands between them.
std::vector<std::string> texts_of(const std::string& source) {
  static const std::regex joined(R"re("\s*\+\s*[A-Za-z_][\w.()>*:-]*(\([^()"]*\))?\s*\+\s*")re"),
      adjacent(R"("\s*\n\s*")"), last(R"re("\s*\+\s*[a-z][\w.()>*:-]*)re"), literal(R"re("((?:[^"\\\n]|\\.)*)")re");
  const std::string text =
      std::regex_replace(std::regex_replace(std::regex_replace(source, joined, "x"), adjacent, ""), last, "x\"");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), literal), end; at != end; ++at) {
    found.push_back(std::regex_replace((*at)[1].str(), std::regex(R"(\{\})"), "x"));
  }
  return found;
}

std::set<std::string> hints() {
  static const std::regex call(R"((GET|POST|PUT|PATCH|DELETE) /v1/|\brailweave [a-z])");
  std::set<std::string> found;
  for (const char* folder : {"services/control", "services/rest", "scheduler", "fabric", "db", "api"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(RAILWEAVE_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".cc") continue;
      std::ifstream file(entry.path());
      for (const std::string& text : texts_of({std::istreambuf_iterator<char>(file), {}})) {
        if (std::regex_search(text, call)) found.insert(text);
      }
    }
  }
  return found;
}

// The help of a command, of as many of the words as are commands; empty: there is none of that name.
std::string help_of(const std::vector<std::string>& words) {
  static std::map<std::vector<std::string>, std::string> known;
  if (const auto at = known.find(words); at != known.end()) return at->second;
  std::vector<std::string> arguments = words;
  arguments.push_back("--help");
  const Finished finished = run_railweave(arguments);
  return known[words] = finished.exit_code == 0 ? finished.out : "";
}

// What is wrong with the commands that a text names; empty: they exist, with the options that it gives them.
std::string unknown_command(const std::string& text) {
  static const std::regex named(R"(\brailweave((?: [A-Za-z0-9_.<>=-]+)+))"), word(R"([A-Za-z0-9_.<>=-]+)");
  static const std::set<std::string> prose{"and", "x"};                        // the program itself, no command of it
  static const std::set<std::string> verbs{"lists", "past", "plans", "says"};  // of the sentence, behind a command
  for (std::sregex_iterator at(text.begin(), text.end(), named), end; at != end; ++at) {
    const std::string phrase = (*at)[1].str();
    std::vector<std::string> words(std::sregex_token_iterator(phrase.begin(), phrase.end(), word), {});
    if (prose.contains(words[0])) continue;
    std::string help = help_of({words[0]});
    if (help.empty()) return "railweave " + words[0];
    if (help.find("\nCommands") != std::string::npos && words.size() > 1 && !verbs.contains(words[1])) {
      help = help_of({words[0], words[1]});
      if (help.empty()) return "railweave " + words[0] + " " + words[1];
    }
    for (const std::string& option : words) {
      if (option.starts_with("--") && help.find(option) == std::string::npos)
        return "railweave" + phrase + ": " + option;
    }
  }
  static const std::regex rest(R"(/v1/|\?\w+=)");
  return std::regex_search(text, rest) ? "words of REST" : "";
}

TEST(RestWords, OfEveryHintAreCommandsThatExist) {
  const auto all = hints();
  EXPECT_GT(all.size(), 40u);
  for (const std::string& hint : all) {
    const std::string shown = in_commands(hint);
    EXPECT_EQ(unknown_command(shown), "") << hint << "\nis shown as\n" << shown;
  }
}

TEST(RestWords, KnowsACommandThatDoesNotExist) {
  EXPECT_EQ(unknown_command("if so: railweave jobs complete x --freed"), "");
  EXPECT_NE(unknown_command("if so: railweave jobs finish x"), "");
  EXPECT_NE(unknown_command("if so: railweave jobs complete x --unknown"), "");
  EXPECT_NE(unknown_command("if so: railweave jobs complete x?freed=true"), "");
  EXPECT_NE(unknown_command(in_commands("if so: POST /v1/jobs/x/unknown")), "");
}

}  // namespace
}  // namespace railweave::cli
