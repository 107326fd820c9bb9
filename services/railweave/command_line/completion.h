// Completion of command lines in a shell: what could come next, read from the real command tree. The scripts that
// `railweave completion SHELL` prints ask `railweave __complete WORDS...` for it at every Tab.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace railweave::cli {

struct Candidate {
  std::string text;
  std::string description;
};
struct Completions {
  std::vector<Candidate> candidates;
  bool files = false;  // file names could come here as well
};

// `words` after the program's name; the last one is being typed, perhaps still empty.
Completions complete(const CLI::App& root, std::span<const std::string> words);

// A line "text<tab>description" for each candidate, and ":files".
std::string completion_text(const Completions& completions);

// "" for a shell that is not known.
std::string_view completion_script(std::string_view shell);

}  // namespace railweave::cli
