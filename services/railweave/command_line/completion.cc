#include "services/railweave/command_line/completion.h"

#include <algorithm>
#include <array>
#include <utility>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

std::string upper_case(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text;
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->check_name(name)) return command;
  }
  return nullptr;
}

const CLI::Option* find_option(const CLI::App& app, std::string_view word) {
  const std::string name(word.substr(0, word.find('=')));
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional() && option->check_name(name)) return option;
  }
  return nullptr;
}

void add(Completions& found, std::string_view typed, std::string text, std::string description) {
  if (!text.starts_with(typed)) return;
  found.candidates.push_back({std::move(text), std::move(description)});
}

// The collection whose names an option or an argument takes; "" for none.
std::string collection_of(const CLI::App& command, const CLI::Option& option) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kCollections{
      {{"JOB", "jobs"},
       {"NODE", "nodes"},
       {"SWITCH", "switches"},
       {"LINK", "links"},
       {"SUBNET", "subnets"},
       {"RACK", "racks"},
       {"RAIL", "rails"},
       {"TENANT", "tenants"},
       {"DOMAIN", "nvlink-domains"},
       {"OPERATION", "operations"}}};
  std::string kind = option.get_positional() ? option.get_name() : option.get_type_name();
  if (kind == "NAME" && option.get_positional()) {
    const CLI::App* noun = command.get_parent();
    return noun == nullptr ? std::string() : "/v1/" + noun->get_name();
  }
  if (kind == "NAME" && !option.get_lnames().empty()) kind = upper_case(option.get_lnames().front());
  for (const auto& [name, collection] : kCollections) {
    if (kind == name) return "/v1/" + std::string(collection);
  }
  return {};
}

// The type name of an option tells which values it takes: "table|wide|json|yaml", "FILE".
void add_values(Completions& found, std::string_view typed, const CLI::Option& option, const std::string& before = {}) {
  const std::string type = option.get_type_name();
  if (type == "FILE") found.files = true;
  if (type.find('|') == std::string::npos) return;
  std::string_view rest = type;
  while (!rest.empty()) {
    const auto bar = rest.find('|');
    const std::string_view value = rest.substr(0, bar);
    // Of "jsonpath=PATH" the user types what follows the "=".
    add(found, typed, before + std::string(value.substr(0, std::min(value.find('='), value.size() - 1) + 1)), "");
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  }
}

void add_options(Completions& found, std::string_view typed, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional() || option->get_group().empty()) continue;
    for (const auto& name : option->get_lnames()) add(found, typed, "--" + name, option->get_description());
    if (option->get_lnames().empty()) {
      for (const auto& name : option->get_snames()) add(found, typed, "-" + name, option->get_description());
    }
  }
}

constexpr std::string_view kBash = R"(# bash completion of railweave: source <(railweave completion bash)
_railweave() {
  local word="${COMP_WORDS[COMP_CWORD]}" line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default 2>/dev/null || true
      COMPREPLY+=($(compgen -f -- "$word"))
    else
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$word" 2>/dev/null)
}
complete -F _railweave railweave
)";

constexpr std::string_view kZsh = R"(#compdef railweave
# zsh completion of railweave: source <(railweave completion zsh), or a file _railweave in $fpath
_railweave() {
  local line
  local -a candidates
  local files=0
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      files=1
    else
      candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    fi
  done < <("${words[1]}" __complete "${(@)words[2,CURRENT-1]}" "${words[CURRENT]}" 2>/dev/null)
  (( ${#candidates} )) && _describe railweave candidates
  (( files )) && _files
}
if [ "$funcstack[1]" = _railweave ]; then
  _railweave "$@"
else
  compdef _railweave railweave
fi
)";

constexpr std::string_view kFish = R"(# fish completion of railweave: railweave completion fish | source
function __railweave_complete
  set -l words (commandline -opc)
  set -l typed (commandline -ct)
  for line in ($words[1] __complete $words[2..-1] "$typed" 2>/dev/null)
    if test "$line" = :files
      __fish_complete_path "$typed"
    else
      echo $line
    end
  end
end
complete -c railweave -f -a '(__railweave_complete)'
)";

}  // namespace

Completions complete(const CLI::App& root, std::span<const std::string> words, const NameLookup& lookup) {
  Completions found;
  const auto add_names = [&](const CLI::App& command, const CLI::Option& option, const std::string& start) {
    const std::string path = lookup ? collection_of(command, option) : std::string();
    if (path.empty()) return;
    for (auto& [text, description] : lookup(path, start)) add(found, start, std::move(text), std::move(description));
  };
  if (words.empty()) return found;
  const CLI::App* app = &root;
  const CLI::Option* pending = nullptr;  // an option whose value comes next
  bool only_positionals = false;
  for (const auto& word : words.first(words.size() - 1)) {
    if (pending != nullptr) {
      pending = nullptr;
    } else if (word == "--") {
      only_positionals = true;
    } else if (!only_positionals && word.size() > 1 && word.front() == '-') {
      const CLI::Option* option = find_option(*app, word);
      const bool takes_value = option != nullptr && option->get_type_size() > 0 && option->get_items_expected_max() > 0;
      if (takes_value && word.find('=') == std::string::npos) pending = option;
    } else if (const CLI::App* command = find_command(*app, word)) {
      app = command;
    }
  }
  const std::string& typed = words.back();
  if (pending != nullptr) {
    add_values(found, typed, *pending);
    add_names(*app, *pending, typed);
    return found;
  }
  if (!only_positionals && typed.starts_with("-")) {
    const auto equals = typed.find('=');
    if (equals == std::string::npos) {
      add_options(found, typed, *app);
    } else if (const CLI::Option* option = find_option(*app, typed)) {
      add_values(found, typed, *option, typed.substr(0, equals + 1));
    }
    return found;
  }
  for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
    add(found, typed, command->get_name(), command->get_description());
  }
  for (const CLI::Option* option : app->get_options()) {
    if (!option->get_positional()) continue;
    add_values(found, typed, *option);
    add_names(*app, *option, typed);
  }
  return found;
}

NameLookup names_of_service(Session& session, std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--server=")) session.options.server = words[i].substr(9);
    if (words[i] == "--server" && i + 1 < words.size()) session.options.server = words[i + 1];
  }
  session.options.timeout_s = 2;  // a shell waits for the answer
  return [&session](const std::string& path, const std::string& typed) {
    std::vector<Candidate> names;
    try {
      Target target(path);
      target.query("limit", "1000");
      if (path == "/v1/nodes") target.filter("name", typed);
      const Json answer = session.service().get(target);
      for (const auto& item : list(answer, "items")) {
        const std::string id = text_of(item, "id");
        std::string about = text_of(item, "name");
        if (about == "-" || about == id) about = text_of(item, "state");
        if (printable(id) == id) names.push_back({id, about == "-" ? "" : printable(about)});
      }
    } catch (const CommandFailure&) {
      names.clear();  // a Tab has no place for a message
    }
    return names;
  };
}

std::string completion_text(const Completions& completions) {
  std::string text;
  for (const auto& [candidate, description] : completions.candidates) {
    text += candidate + "\t" + description.substr(0, description.find('\n')) + "\n";
  }
  return completions.files ? text + ":files\n" : text;
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return {};
}

void add_completion_commands(CLI::App& root, Session& session) {
  CLI::App& noun = add_noun(root, "completion", "Shell completion", "Service");
  struct Shell {
    const char* name;
    const char* example;
  };
  for (const auto& [name, example] :
       {Shell{"bash", "source <(railweave completion bash)"}, Shell{"zsh", "source <(railweave completion zsh)"},
        Shell{"fish", "railweave completion fish | source"}}) {
    CLI::App& command = add_command(noun, name, std::string("Print the completion script for ") + name, {example});
    on_run(command, session, [&session, shell = std::string(name)] { session.output.text(completion_script(shell)); });
  }
}

}  // namespace railweave::cli
