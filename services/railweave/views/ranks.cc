#include "services/railweave/views/ranks.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "services/railweave/command_line/number_option.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

// Whether ranks differ in this coordinate.
bool is_used(const Json& parallelism, FieldName factor, const Json& ranks, FieldName coordinate) {
  if (field(parallelism, factor).is_number()) return count_of(parallelism, factor) > 1;
  return std::ranges::any_of(ranks, [&](const Json& rank) { return count_of(rank, coordinate) > 0; });
}

std::string of_nics(const Json& rank, FieldName name) {
  std::string text;
  for (const auto& nic : list(rank, "nics")) text += (text.empty() ? "" : ",") + text_of(nic, name);
  return text.empty() ? "-" : text;
}

}  // namespace

void add_rank_options(CLI::App& command, RankOptions& options) {
  command.add_flag("--all", options.all,
                   fmt::format("All ranks; by default a terminal shows the first {}", kRanksOnTerminal));
  add_number_option(command, "--limit", options.limit, "Show the first N ranks", {.least = 1});
}

std::uint64_t ranks_shown(const Output& output, std::uint64_t count, const RankOptions& options) {
  if (options.limit) return std::min(count, *options.limit);
  if (options.all || output.is_document() || !output.terminal().is_terminal) return count;
  return count <= kRanksOnTerminal + 8 ? count : kRanksOnTerminal;  // not cut for a few more
}

void print_ranks(Output& output, const Json& ranks, std::uint64_t count, const Json& parallelism,
                 const RankOptions& options) {
  const bool wide = output.is_wide();
  const bool cp = wide || is_used(parallelism, "context", ranks, "cp");
  const bool ep = wide || is_used(parallelism, "expert", ranks, "ep");
  std::vector<Column> columns{{"RANK", Align::right}, {"NODE"}, {"GPU", Align::right}, {"NIC"}, {"RAIL"}};
  if (wide) columns.push_back({"NIC PORT"});
  for (const char* title : {"TP", "PP", "DP"}) columns.push_back({title, Align::right});
  if (cp) columns.push_back({"CP", Align::right});
  if (ep) columns.push_back({"EP", Align::right});
  Table table(std::move(columns));
  bool assumed = false;
  const std::uint64_t shown = std::min<std::uint64_t>(ranks_shown(output, count, options), ranks.size());
  for (std::uint64_t i = 0; i < shown; ++i) {
    const Json& rank = ranks[i];
    std::vector<Cell> cells{text_of(rank, "rank"), text_of(rank, "node"), text_of(rank, "gpu"), of_nics(rank, "device"),
                            of_nics(rank, "rail")};
    if (wide) cells.emplace_back(of_nics(rank, "port"));
    for (const FieldName name : std::initializer_list<FieldName>{"tp", "pp", "dp"})
      cells.emplace_back(text_of(rank, name));
    if (cp) cells.emplace_back(text_of(rank, "cp"));
    if (ep) cells.emplace_back(text_of(rank, "ep"));
    table.add(std::move(cells));
    assumed = assumed || flag_of(rank, "nicsAssumed");
  }
  output.text(table.text(output.terminal()));
  if (shown < count) output.text(fmt::format("and {} more ranks (--all shows them)\n", count - shown));
  if (assumed) {
    output.flush();
    output.note(
        "railweave: note: the fabric's source does not tell which adapter is near which GPU; adapters are assigned "
        "evenly");
  }
}

void note_outside(Output& output, const Json& outside) {
  struct Outside {
    FieldName name;
    const char* of;
  };
  for (const auto& [name, of] : {Outside{"class", "the job's class"}, Outside{"partition", "the tenant's partition"}}) {
    std::string names;
    for (const Json& library : list(outside, name)) names += (names.empty() ? "" : ", ") + text_of(library);
    if (names.empty()) continue;
    output.flush();
    output.note(fmt::format("railweave: note: outside {}, as they read no variable for it: {}", of, names));
  }
}

}  // namespace railweave::cli
