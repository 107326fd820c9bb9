// Lists of the service as tables: which column shows what of an item, and the options every `list` command has.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/connection/session.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

struct ListColumn {
  std::string title;
  std::function<Cell(const Json& item)> cell;
  Align align = Align::left;
  bool wide = false;  // with -o wide only
};

// The usual columns: a field as it is.
ListColumn text_column(std::string title, std::string name, bool wide = false);
ListColumn number_column(std::string title, std::string name, bool wide = false);

ListColumn time_column(std::string title, std::string name, bool wide = false);  // without fractions of a second

struct ListView {
  std::vector<ListColumn> columns;
  std::string none;  // said on stderr when the list is empty: "no jobs"
};

// The columns that this output format shows, and an item as a row of them.
Table make_table(const ListView& view, bool wide);
void add_row(Table& table, const ListView& view, bool wide, const Json& item);

// Fetches the list and prints it. `limit` 0: everything.
void print_list(Session& session, const Target& target, const ListView& view, std::uint64_t limit = 0);

void add_limit_option(CLI::App& command, std::uint64_t& limit);

}  // namespace railweave::cli
