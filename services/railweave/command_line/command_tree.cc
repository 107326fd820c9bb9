#include "services/railweave/command_line/command_tree.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "fabric/base/decimal_number.h"
#include "services/railweave/command_line/file_output.h"
#include "services/railweave/command_line/help_text.h"
#include "services/railweave/command_line/usage_error.h"
#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

// The innermost command that was parsed.
const CLI::App& reached(const CLI::App& root) {
  const CLI::App* app = &root;
  for (auto chosen = app->get_subcommands(); !chosen.empty(); chosen = app->get_subcommands()) app = chosen.back();
  return *app;
}

void add_global_options(CLI::App& app, Session& session, bool offline) {
  GlobalOptions& options = session.options;
  app.add_option("-o,--output", options.output, "Output format")
      ->type_name(std::string(kOutputFormats))
      ->group(kGlobalGroup)
      ->check([&app](const std::string& text) {
        const auto choice = OutputChoice::parse(text);
        return choice || took_as_file(app, text) ? std::string() : choice.error().text();
      });
  app.add_flag("--no-headers", options.no_headers, "Tables without their headings")->group(kGlobalGroup);
  if (offline) return;
  app.add_option("--server", options.server, "URL of railweaved; also set by RAILWEAVE_URL")
      ->type_name("URL")
      ->group(kGlobalGroup);
  app.add_option("--profile", options.profile, "Saved login to use (railweave login); also set by RAILWEAVE_PROFILE")
      ->type_name("NAME")
      ->group(kGlobalGroup);
  app.add_option("--ca-file", options.ca_file, "Certificates to trust for https; also set by RAILWEAVE_CA_FILE")
      ->type_name("FILE")
      ->group(kGlobalGroup);
  app.add_flag("-v,--verbose", options.verbose, "A line on standard error for each request, with its id in the log")
      ->group(kGlobalGroup);
  app.add_option("--timeout", options.timeout_s, "Time limit of one request to the service")
      ->type_name("SECONDS")
      ->group(kGlobalGroup)
      ->check([](const std::string& text) {
        const auto seconds = decimal_number(text);
        const bool fits = seconds && *seconds >= 0.05 && *seconds <= 86'400;
        return fits ? std::string() : "'" + text + "' is not a number of seconds from 0.05 to 86400";
      });
}

// The help of a noun shows an example of each of its commands, as far as they are few.
void add_examples_of_noun(CLI::App& noun, const std::vector<CLI::App*>& commands) {
  constexpr std::size_t kMaxExamples = 8;
  std::string footer;
  std::size_t count = 0;
  for (const CLI::App* command : commands) {
    std::istringstream lines(command->get_footer());
    std::string heading, example;
    if (!std::getline(lines, heading) || !std::getline(lines, example) || ++count > kMaxExamples) continue;
    footer += (footer.empty() ? "Examples:\n" : "\n") + example;
  }
  noun.footer(footer);
}

// Names that are empty come from scripts whose variable was not set.
void refuse_empty_arguments(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](const CLI::Option* one) { return one->get_positional(); })) {
    option->check(is_not_empty);
  }
}

void finish(CLI::App& app, Session& session, bool offline) {  // NOLINT(misc-no-recursion)
  const auto inner = app.get_subcommands([](const CLI::App*) { return true; });
  if (app.get_name() == "completion") return add_examples_of_noun(app, inner);
  offline = offline || app.get_name() == "lab" || app.get_name() == "admin" || app.get_name() == "assess";
  add_global_options(app, session, offline);
  refuse_empty_arguments(app);
  for (CLI::App* command : inner) finish(*command, session, offline);
  if (app.get_parent() != nullptr && !inner.empty()) add_examples_of_noun(app, inner);
}

// `railweave help jobs submit` asks for `railweave jobs submit --help`.
std::vector<std::string> words_of_line(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  const bool is_question =
      !words.empty() && words.front() == "help" && (words.size() == 1 || !words[1].starts_with('-'));
  if (!is_question) return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

ExitCode refuse(const CLI::App& root, Session& session, const std::string& what) {
  const CLI::App& app = reached(root);
  session.output.note("railweave: " + what + " (see " + full_name(app) + " --help)");
  return ExitCode::usage;
}

}  // namespace

CLI::App& add_noun(CLI::App& parent, const std::string& name, const std::string& description,
                   const std::string& group) {
  return *parent.add_subcommand(name, description)->group(group);
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      std::initializer_list<const char*> examples) {
  CLI::App& command = *parent.add_subcommand(name, description)->group("Commands");
  std::string footer;
  for (const char* example : examples) footer += std::string(footer.empty() ? "Examples:\n  " : "\n  ") + example;
  command.footer(footer);
  return command;
}

void on_run(CLI::App& command, Session& session, std::function<void()> run) {
  // Called for `alarms` too where the line goes on to `alarms acknowledge`, and after it.
  command.callback([&command, &session, run = std::move(run)] {
    if (command.get_subcommands().empty()) session.command = run;
  });
}

std::string is_not_empty(const std::string& text) { return text.empty() ? kIsEmpty : std::string(); }

void finish_tree(CLI::App& root, Session& session) { finish(root, session, false); }

ExitCode read_command_line(CLI::App& root, Session& session, int argc, const char* const* argv) {
  const std::vector<std::string> words = words_of_line(argc, argv);
  try {
    root.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp& help) {
    if (!unknown_word(reached(root), words).empty()) {  // `railweave jbos --help` is no question about railweave
      return refuse(root, session, usage_error_text(reached(root), help, words));
    }
    session.output.text(root.help());
    return ExitCode::ok;
  } catch (const CLI::CallForVersion& version) {
    session.output.text(std::string(version.what()) + "\n");
    return ExitCode::ok;
  } catch (const CLI::ParseError& error) {
    if (const CLI::App& app = reached(root); !command_names(app).empty() && unknown_word(app, words) == "help") {
      session.output.text(app.help());  // `railweave jobs help`
      return ExitCode::ok;
    }
    return refuse(root, session, usage_error_text(reached(root), error, words));
  }
  if (auto choice = OutputChoice::parse(session.options.output)) session.output.choose(std::move(*choice));
  if (session.options.no_headers) session.output.hide_headings();
  if (session.command) return ExitCode::ok;
  if (argc <= 1) {
    session.output.text(root.help());
    return ExitCode::ok;
  }
  const CLI::App& app = reached(root);
  return refuse(root, session, "a command is missing; choose one of " + command_names(app));
}

}  // namespace railweave::cli
