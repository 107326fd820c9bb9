#include "services/railweave/command_line/usage_error.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/nearest.h"

namespace railweave::cli {
namespace {

// The words of a text between and after marks, so that a message of the parser can be said otherwise.
std::string_view after(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}
std::string_view before(std::string_view text, std::string_view mark) { return text.substr(0, text.find(mark)); }

const CLI::App* root_of(const CLI::App* command) {
  while (command->get_parent() != nullptr) command = command->get_parent();
  return command;
}

// The innermost of the commands that were recognised to which the word was left over.
const CLI::App* owner_of(const CLI::App* command, const std::string& word) {
  for (; command->get_parent() != nullptr; command = command->get_parent()) {
    const auto left = command->remaining(false);
    if (std::ranges::find(left, word) != left.end()) break;
  }
  return command;
}

std::string no_option_text(const CLI::App& command, const std::string& word) {
  const std::string name(before(word, "="));
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options()) {
    for (const auto& one : option->get_lnames()) options.push_back("--" + one);
  }
  const std::string meant = nearest(name, options);
  return "there is no option " + name + (meant.empty() ? "" : "; did you mean " + meant + "?");
}

std::string unknown_text(const CLI::App& command, const std::string& word) {
  if (word.starts_with('-')) return no_option_text(command, word);
  const CLI::App& owner = *owner_of(&command, word);
  if (!command_names(owner).empty()) return no_command_text(owner, word);
  return "'" + word + "' is one argument too many";
}

}  // namespace

std::string full_name(const CLI::App& app) {
  return (app.get_parent() == nullptr ? std::string() : full_name(*app.get_parent()) + " ") + app.get_name();
}

std::string no_command_text(const CLI::App& app, const std::string& word) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
    for (const auto& alias : command->get_aliases()) commands.push_back(alias);
  }
  const std::string meant = nearest(word, commands);
  if (!meant.empty()) return "there is no command '" + word + "'; did you mean " + full_name(app) + " " + meant + "?";
  const std::string names = command_names(app);
  if (names.empty()) return full_name(app) + " has no commands, so no '" + word + "'";
  return "there is no command '" + word + "'; choose one of " + names;
}

std::string unknown_word(const CLI::App& command, std::span<const std::string> words) {
  const auto left = root_of(&command)->remaining(true);
  for (const auto& word : words) {
    if (std::ranges::find(left, word) != left.end()) return word;
  }
  return {};
}

std::string command_names(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

std::string usage_error_text(const CLI::App& command, const CLI::ParseError& error,
                             std::span<const std::string> words) {
  const std::string said = error.what();
  const std::string_view what = before(said, "\n");
  if (const std::string word = unknown_word(command, words); !word.empty()) return unknown_text(command, word);
  if (what.ends_with(kIsEmpty)) return fmt::format("{} {}", before(what, ": "), kIsEmpty);
  if (what.ends_with(" is required")) return std::string(before(what, " is required")) + " is missing";
  if (what.ends_with(" missing") && what.find(": ") != std::string_view::npos) {
    return std::string(before(what, ": ")) + " needs a value";
  }
  if (const auto rest = after(what, "Could not convert: "); !rest.empty()) {
    return fmt::format("{} takes a number, not '{}'", before(rest, " = "), after(rest, " = "));
  }
  for (const auto& [mark, said_as] : {std::pair(" excludes ", " contradicts "), std::pair(" requires ", " needs ")}) {
    if (const auto other = after(what, mark); !other.empty()) {
      return fmt::format("{}{}{}", before(what, mark), said_as, other);
    }
  }
  if (const auto rest = after(what, ": Value ");
      !rest.empty() && rest.find(" not in range ") != std::string_view::npos) {
    return fmt::format("{} takes a number from {}, not {}", before(what, ": "), after(rest, " not in range "),
                       before(rest, " not in range "));
  }
  return std::string(what);
}

}  // namespace railweave::cli
