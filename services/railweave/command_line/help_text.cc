#include "services/railweave/command_line/help_text.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "services/railweave/terminal/exit_code.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kHelpColumns = 110;

std::string wrapped(const std::string& text, std::size_t columns) {
  std::string out;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (used > 0 && used + 1 + word.size() > columns) {
      out += '\n';
      used = 0;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
    at = end + 1;
  }
  return out;
}

}  // namespace

// CLI11 leaves several blank lines between some parts; keeps one.
std::string HelpText::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text = Formatter::make_help(app, std::move(name), mode);
  for (auto at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
  return text;
}

std::string HelpText::make_subcommand(const CLI::App* command) const {
  std::stringstream out;
  CLI::detail::format_help(out, command->get_name(), wrapped(command->get_description(), kHelpColumns - column_width_),
                           column_width_);
  return out.str();
}

std::string HelpText::make_option_desc(const CLI::Option* option) const {
  return wrapped(option->get_description(), kHelpColumns - column_width_);
}

std::string HelpText::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = "\nUsage: " + name;
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_positional()) usage += " " + make_option_usage(option);
  }
  const auto commands = app->get_subcommands([](const CLI::App*) { return true; });
  return usage + (commands.empty() ? " [OPTIONS]\n" : " COMMAND [OPTIONS]\n");
}

std::string HelpText::make_option_opts(const CLI::Option* option) const {
  std::string text;
  const std::string type = option->get_type_name();
  const bool plain = option->get_positional() && type == "TEXT";  // its name says what it is
  if (!type.empty() && !plain && option->get_type_size() != 0) text += " " + type;
  if (!option->get_default_str().empty()) text += " [" + option->get_default_str() + "]";
  if (option->get_expected_max() > 1) text += " ...";
  return text;
}

std::string HelpText::make_footer(const CLI::App* app) const {
  const std::string footer = app->get_footer();
  return footer.empty() ? footer : footer + "\n";
}

std::string root_footer() {
  std::string text =
      "Examples:\n"
      "  railweave lab generate demo -O demo.json        a fabric to experiment with\n"
      "  railweave fabric import demo.json\n"
      "  railweave tenants set research --max-gpus 512\n"
      "  railweave place --tp 8 --pp 4 --dp 3            where would a job go? changes nothing\n"
      "  railweave jobs submit --tenant research --name llama --tp 8 --pp 4 --dp 3\n"
      "  railweave jobs ranks job-000001\n"
      "\nEnvironment:\n"
      "  RAILWEAVE_URL          URL of railweaved, as --server: http://..., https://... or unix:/run/railweave.sock\n"
      "  RAILWEAVE_SOCKET       Unix socket of the service where nothing names another one\n"
      "  RAILWEAVE_TOKEN        token to show, instead of the saved one\n"
      "  RAILWEAVE_PROFILE      saved login to use, as --profile\n"
      "  RAILWEAVE_CA_FILE      certificates to trust for https, as --ca-file\n"
      "  RAILWEAVE_CREDENTIALS  file of saved logins [~/.config/railweave/credentials.json]\n"
      "  NO_COLOR               if set, no colours even on a terminal\n"
      "\nExit codes:\n";
  for (const auto& [code, meaning] : exit_code_meanings()) {
    const std::string number = std::to_string(static_cast<int>(code));
    text += fmt::format("{}{}  {}\n", std::string(4 - number.size(), ' '), number, meaning);
  }
  text.pop_back();
  return text;
}

}  // namespace railweave::cli
