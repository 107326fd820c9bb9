// Lists of the service as tables: which column shows which field of an item, and --limit.
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
  bool wide = false;  // shown with -o wide only
};

// Columns that show a field unchanged.
ListColumn text_column(std::string title, std::string name, bool wide = false);
ListColumn number_column(std::string title, std::string name, bool wide = false);
ListColumn time_column(std::string title, std::string name, bool wide = false);  // without fractions of a second

struct ListView {
  std::vector<ListColumn> columns;
  std::string none;  // noted on stderr when the list is empty: "no jobs"
};

// An empty table with the columns that the output format shows, and an item as a row of it.
Table make_table(const ListView& view, bool wide);
void add_row(Table& table, const ListView& view, bool wide, const Json& item);

// A list inside a document, as a table; empty where the list is.
std::string table_text(const ListView& view, const Json& items, const Output& output);

// Fetches a list and prints it, at most `limit` items (0: all).
void print_list(Session& session, const Target& target, const ListView& view, std::uint64_t limit = 0);

void add_limit_option(CLI::App& command, std::uint64_t& limit);

}  // namespace railweave::cli
