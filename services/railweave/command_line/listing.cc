#include "services/railweave/command_line/listing.h"

#include <utility>

#include "services/railweave/command_line/number_option.h"

namespace railweave::cli {

ListColumn text_column(std::string title, std::string name, bool wide) {
  return {std::move(title), [name = std::move(name)](const Json& item) { return Cell(text_of(item, name)); },
          Align::left, wide};
}

ListColumn number_column(std::string title, std::string name, bool wide) {
  ListColumn column = text_column(std::move(title), std::move(name), wide);
  column.align = Align::right;
  return column;
}

ListColumn time_column(std::string title, std::string name, bool wide) {
  return {std::move(title), [name = std::move(name)](const Json& item) { return Cell(time_of(item, name)); },
          Align::left, wide};
}

Table make_table(const ListView& view, bool wide) {
  std::vector<Column> columns;
  for (const auto& column : view.columns) {
    if (wide || !column.wide) columns.push_back({column.title, column.align});
  }
  return Table(std::move(columns));
}

void add_row(Table& table, const ListView& view, bool wide, const Json& item) {
  std::vector<Cell> cells;
  for (const auto& column : view.columns) {
    if (wide || !column.wide) cells.push_back(column.cell(item));
  }
  table.add(std::move(cells));
}

std::string table_text(const ListView& view, const Json& items, const Output& output) {
  Table table = make_table(view, output.is_wide());
  for (const Json& item : items) add_row(table, view, output.is_wide(), item);
  return table.rows() == 0 ? std::string() : table.text(output.terminal());
}

void print_list(Session& session, const Target& target, const ListView& view, std::uint64_t limit) {
  Output& output = session.output;
  const bool wide = output.is_wide();
  Table table = make_table(view, wide);
  Json items = Json::array();
  const auto end = session.service().each_item(
      target, limit,
      [&](const Json& item) {
        if (output.is_document()) {
          items.push_back(item);
        } else {
          add_row(table, view, wide, item);
        }
      },
      [&] {
        items.clear();
        table = make_table(view, wide);
      });
  if (output.is_document()) {
    return output.document(Json{{"items", std::move(items)}, {"nextCursor", end.next_cursor}, {"seq", end.seq}});
  }
  if (table.rows() == 0) return output.note(view.none);
  output.text(table.text(output.terminal()));
  if (end.next_cursor.is_string()) {
    output.flush();
    output.note("the first " + std::to_string(table.rows()) + "; there are more (--limit 0 shows all)");
  }
}

void add_limit_option(CLI::App& command, std::uint64_t& limit) {
  add_number_option(command, "--limit", limit, "Show at most N; 0: all");
}

}  // namespace railweave::cli
