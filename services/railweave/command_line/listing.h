// Lists of the service as tables: which column shows which field of an item; and what every list can do: --limit,
// --sort-by, --state, --selector, --watch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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
  bool wide = false;                    // shown with -o wide only
  bool spare = false, beneath = false;  // on a narrow terminal: see Column
};

// Columns that show a field unchanged.
ListColumn text_column(std::string title, FieldName name, bool wide = false);
ListColumn number_column(std::string title, FieldName name, bool wide = false);
ListColumn time_column(std::string title, FieldName name, bool wide = false);  // without fractions of a second
ListColumn spare_time_column(std::string title, FieldName name);               // one with its age beside it
ListColumn age_column(FieldName name);
ListColumn sentence_column(std::string title, FieldName name);

// What is listed apart, beneath the others: a table of its own under a line that says why.
struct ListedApart {
  std::function<bool(const Json& item)> is;  // none: nothing is
  std::string title;
  ListColumn column;  // before the last one
};

struct ListView {
  std::vector<ListColumn> columns;
  std::string none;       // noted on stderr when the list is empty: "no jobs"
  bool labelled = false;  // items have labels, which --selector asks for
  // Items of a smaller number first, unless --sort-by asks for something else; none: as the service has them.
  std::function<int(const Json& item)> order = {};
  ListedApart apart = {};
};

struct ListOptions {
  std::optional<std::uint64_t> limit;  // 0: all; none: all, but on a terminal the first kItemsOnTerminal
  std::string sort_by;                 // a column's title, or a field
  bool reverse = false;
  std::string state;     // what the STATE column is to show; several by commas
  std::string selector;  // KEY=VALUE, KEY!=VALUE, KEY or !KEY; several by commas, all of which hold
  bool watch = false;
  std::string asked;  // filters of the service, for the note of an empty list: "--kind link.down"
};
inline constexpr std::uint64_t kItemsOnTerminal = 1'000;

// An empty table with the columns that the output format shows, and an item as a row of it.
Table make_table(const ListView& view, bool wide);
void add_row(Table& table, const ListView& view, bool wide, const Json& item);

// A list inside a document, as a table; empty where the list is.
std::string table_text(const ListView& view, const Json& items, const Output& output);

// Fetches a list and prints it; with `watch` again whenever it changes, until interrupted.
void print_list(Session& session, const Target& target, const ListView& view, const ListOptions& options = {});

// --state only where the view has such a column and the command no such option by now.
void add_list_options(CLI::App& command, ListOptions& options, const ListView& view);

}  // namespace railweave::cli
