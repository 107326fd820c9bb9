// Completion of command lines in a shell, read from the real command tree. The scripts that `railweave completion SHELL`
// prints call `railweave __complete WORDS...` at every Tab.
#pragma once

#include <functional>
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

// The names that the service has in a collection, such as "/v1/jobs", and that may begin as typed.
using NameLookup = std::function<std::vector<Candidate>(const std::string& path, const std::string& typed)>;

// `words` follow the program's name; the last one is being typed and may be empty.
Completions complete(const CLI::App& root, std::span<const std::string> words, const NameLookup& lookup = {});

// Asks the service that --server names in the words, or else the session's; no names where it does not answer at once.
NameLookup names_of_service(Session& session, std::span<const std::string> words);

// A line "text<tab>description" for each candidate, then ":files" where file names are possible.
std::string completion_text(const Completions& completions);

// "" for an unknown shell.
std::string_view completion_script(std::string_view shell);

// railweave completion bash|zsh|fish.
void add_completion_commands(CLI::App& root, Session& session);

}  // namespace railweave::cli
