#include "services/railweave/command_line/usage_error.h"

#include <string_view>
#include <utility>

namespace railweave::cli {
namespace {

// The words of a text between and after marks, so that a message of the parser can be said otherwise.
std::string_view after(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}
std::string_view before(std::string_view text, std::string_view mark) { return text.substr(0, text.find(mark)); }

std::string unexpected(const CLI::App& command, std::string_view words) {
  const std::string first(before(words, " "));
  if (first.starts_with('-')) return "there is no option " + first;
  const std::string names = command_names(command);
  if (!names.empty()) return "there is no command '" + first + "'; choose one of " + names;
  return "'" + first + "' is one argument too many";
}

}  // namespace

std::string command_names(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

std::string usage_error_text(const CLI::App& command, const CLI::ParseError& error) {
  const std::string said = error.what();
  const std::string_view what = before(said, "\n");
  if (const auto words = after(what, "not expected: "); !words.empty()) return unexpected(command, words);
  if (what.ends_with(" is required")) return std::string(before(what, " is required")) + " is missing";
  if (what.ends_with(" missing") && what.find(": ") != std::string_view::npos) {
    return std::string(before(what, ": ")) + " needs a value";
  }
  if (const auto rest = after(what, "Could not convert: "); !rest.empty()) {
    return std::string(before(rest, " = ")) + " takes a number, not '" + std::string(after(rest, " = ")) + "'";
  }
  for (const auto& [mark, words] : {std::pair(" excludes ", " contradicts "), std::pair(" requires ", " needs ")}) {
    if (const auto other = after(what, mark); !other.empty()) {
      return std::string(before(what, mark)) + words + std::string(other);
    }
  }
  if (const auto rest = after(what, ": Value ");
      !rest.empty() && rest.find(" not in range ") != std::string_view::npos) {
    return std::string(before(what, ": ")) + " takes a number from " + std::string(after(rest, " not in range ")) +
           ", not " + std::string(before(rest, " not in range "));
  }
  return std::string(what);
}

}  // namespace railweave::cli
