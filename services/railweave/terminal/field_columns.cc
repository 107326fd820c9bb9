#include "services/railweave/terminal/field_columns.h"

#include <fmt/core.h>

#include "services/railweave/terminal/printable.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

// The items of a list, or the document itself.
std::vector<const Json*> rows_of(const Json& document) {
  std::vector<const Json*> rows;
  if (const Json& items = field(document, "items"); items.is_array()) {
    for (const Json& item : items) rows.push_back(&item);
  } else {
    rows.push_back(&document);
  }
  return rows;
}

}  // namespace

Result<FieldColumns> FieldColumns::parse(std::string_view text) {
  FieldColumns parsed;
  while (!text.empty()) {
    const auto one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const auto colon = one.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == one.size()) {
      return fail(ErrorKind::invalid, "cli.badColumns", fmt::format("'{}' is not TITLE:PATH", one), {},
                  "for example -o custom-columns=NODE:.id,GPUS:.gpus");
    }
    auto path = FieldPath::parse(one.substr(colon + 1));
    if (!path) return std::unexpected(path.error());
    parsed.columns_.push_back({std::string(one.substr(0, colon)), std::move(*path)});
  }
  if (parsed.columns_.empty()) {
    return fail(ErrorKind::invalid, "cli.badColumns", "no columns are named", {},
                "for example -o custom-columns=NODE:.id,GPUS:.gpus");
  }
  return parsed;
}

std::string FieldColumns::table(const Json& document, const Terminal& terminal) const {
  std::vector<railweave::cli::Column> titles;
  for (const Column& column : columns_) titles.push_back({column.title});
  Table table(std::move(titles));
  for (const Json* row : rows_of(document)) {
    std::vector<Cell> cells;
    for (const Column& column : columns_) cells.emplace_back(column.path.text(*row, ",", "-"));
    table.add(std::move(cells));
  }
  return table.text(terminal);
}

std::string names_text(const Json& document) {
  std::string text;
  for (const Json* row : rows_of(document)) {
    for (const FieldName name :
         std::initializer_list<FieldName>{"id", "name", "job", "operation", "tenant", "node", "seq", "rank"}) {
      const Json& value = field(*row, name);
      if (!value.is_string() && !value.is_number()) continue;
      text += printable(text_of(value)) + "\n";
      break;
    }
  }
  return text;
}

}  // namespace railweave::cli
