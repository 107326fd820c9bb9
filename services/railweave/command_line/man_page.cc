#include "services/railweave/command_line/man_page.h"

#include <memory>
#include <vector>

#include <fmt/core.h>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/usage_error.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

std::string words_of(const CLI::App& command, const char* between) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? std::string() : words_of(*parent, between) + between) + command.get_name();
}

// Text as roff takes it: no escapes, no requests, hyphens that can be copied.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_head(const CLI::Option& option) {
  if (option.get_positional()) return "\\fI" + roff(option.get_name()) + "\\fR";
  std::string names;
  for (const auto& name : option.get_snames())
    names += (names.empty() ? "" : ", ") + ("\\fB" + roff("-" + name) + "\\fR");
  for (const auto& name : option.get_lnames())
    names += (names.empty() ? "" : ", ") + ("\\fB" + roff("--" + name) + "\\fR");
  const std::string type = option.get_type_name();
  if (!type.empty() && option.get_type_size() != 0) names += " \\fI" + roff(type) + "\\fR";
  return names;
}

void add_options(std::string& page, const CLI::App& command, bool positional) {
  bool any = false;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() != positional || option->get_group().empty()) continue;
    if (!any) page += positional ? ".SH ARGUMENTS\n" : ".SH OPTIONS\n";
    any = true;
    page += ".TP\n" + option_head(*option) + "\n" + roff(option->get_description());
    if (!option->get_default_str().empty()) page += roff(" [" + option->get_default_str() + "]");
    page += "\n";
  }
}

// The pages of a command and of all below it.
void each_page(const CLI::App& command,
               const std::function<void(const CLI::App&)>& page) {  // NOLINT(misc-no-recursion)
  page(command);
  for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; })) each_page(*inner, page);
}

const CLI::App& command_of_page(const CLI::App& root, const std::string& page) {
  const CLI::App* found = nullptr;
  each_page(root, [&](const CLI::App& command) {
    const std::string name = man_page_name(command);
    if (name == page || name == root.get_name() + "-" + page) found = &command;
  });
  if (found == nullptr)
    fail_usage("there is no page '" + page + "'", "a command's words joined by -, such as jobs-list");
  return *found;
}

}  // namespace

std::string man_page_name(const CLI::App& command) { return words_of(command, "-"); }

std::string man_page(const CLI::App& command) {
  const std::string name = man_page_name(command);
  std::string page = ".TH \"" + roff(name) + "\" 1 \"\" \"Railweave\" \"Railweave\"\n";
  page += ".SH NAME\n" + roff(name) + " \\- " + roff(command.get_description()) + "\n";
  page += ".SH SYNOPSIS\n\\fB" + roff(words_of(command, " ")) + "\\fR";
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      page += " \\fI" + roff(option->get_name()) + "\\fR" + (option->get_expected_max() > 1 ? " ..." : "");
    }
  }
  const auto commands = command.get_subcommands([](const CLI::App*) { return true; });
  page += commands.empty() ? " [\\fIOPTIONS\\fR]\n" : " \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  if (!commands.empty()) page += ".SH COMMANDS\n";
  for (const CLI::App* inner : commands) {
    page += ".TP\n\\fB" + roff(inner->get_name()) + "\\fR\n" + roff(inner->get_description()) + "\n";
  }
  add_options(page, command, true);
  add_options(page, command, false);
  if (const std::string footer = command.get_footer(); !footer.empty()) {
    page += ".SH NOTES\n.nf\n" + roff(footer) + "\n.fi\n";
  }
  if (const CLI::App* parent = command.get_parent(); parent != nullptr) {
    page += ".SH SEE ALSO\n\\fB" + roff(man_page_name(*parent)) + "\\fR(1)\n";
  }
  return page;
}

void add_man_command(CLI::App& root, Session& session) {
  struct ManOptions {
    std::string page, folder;
  };
  auto options = std::make_shared<ManOptions>();
  CLI::App& command =
      add_command(root, "man", "Print the manual page of a command, for man(1)",
                  {"railweave man jobs-list | man -l -", "railweave man railweave --folder /usr/local/share/man/man1"});
  command.group("Service");
  command.add_option("PAGE", options->page, "The command's words joined by -, such as jobs-list; or railweave")
      ->required();
  command.add_option("--folder", options->folder, "Write the pages of the command and of all below it here")
      ->type_name("FOLDER");
  on_run(command, session, [&root, &session, options] {
    const CLI::App& named = command_of_page(root, options->page);
    if (options->folder.empty()) return session.output.text(man_page(named));
    std::size_t count = 0;
    each_page(named, [&](const CLI::App& one) {
      write_file_or_stdout(session.output, options->folder + "/" + man_page_name(one) + ".1", man_page(one));
      ++count;
    });
    session.output.note(fmt::format("{} pages in {}", count, options->folder));
  });
}

}  // namespace railweave::cli
