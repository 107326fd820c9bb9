// Completion of command lines in a shell, read from the real command tree. The scripts that `railweave completion SHELL`
// prints call `railweave __complete WORDS...` at every Tab.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

struct Candidate {
  std::string text;
  std::string description;
};
struct Completions {
  std::vector<Candidate> candidates;
  bool files = false;  // file names are possible here as well
};

// `words` follow the program's name; the last one is being typed and may be empty.
Completions complete(const CLI::App& root, std::span<const std::string> words);

// A line "text<tab>description" for each candidate, then ":files" where file names are possible.
std::string completion_text(const Completions& completions);

// "" for an unknown shell.
std::string_view completion_script(std::string_view shell);

// railweave completion bash|zsh|fish.
void add_completion_commands(CLI::App& root, Session& session);

}  // namespace railweave::cli
