#include "services/railweave/terminal/table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fabric/base/check.h"
#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;  // a column is not shortened below this

std::string_view start_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::good:
      return "\033[32m";
    case Tone::warning:
      return "\033[33m";
    case Tone::bad:
      return "\033[31m";
    case Tone::faint:
      return "\033[2m";
  }
  return "";
}

// What show, cancel, drain and the other commands take as their argument, or filters as their value.
constexpr std::array<std::string_view, 14> kNames{"JOB",    "NODE",        "LINK",    "SWITCH",       "SUBNET",
                                                  "TENANT", "ID",          "PORT ID", "RACK",         "OPERATION",
                                                  "RAIL",   "RESERVATION", "SUBJECT", "NVLINK DOMAIN"};

std::size_t total_width(const std::vector<std::size_t>& widths) {
  std::size_t sum = kGap * (widths.empty() ? 0 : widths.size() - 1);
  for (const auto width : widths) sum += width;
  return sum;
}

// Shortens left-aligned columns until the widths fit into `room`, as far as that is possible.
void shrink(std::vector<std::size_t>& widths, const std::vector<Column>& columns, std::size_t room) {
  for (std::size_t excess = total_width(widths); excess > room; excess = total_width(widths)) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (columns[i].align == Align::right || columns[i].name || widths[i] <= kNarrowest) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

// Columns that are left out for names to fit: the widest first, the last of several.
std::vector<bool> left_out(std::vector<std::size_t> widths, const std::vector<Column>& columns, std::size_t room) {
  std::vector<bool> out(columns.size(), false);
  if (std::ranges::none_of(columns, &Column::name)) return out;
  std::size_t total = total_width(widths);
  while (total > room) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (columns[i].name || out[i]) continue;
      if (widest == widths.size() || widths[i] >= widths[widest]) widest = i;
    }
    if (widest == widths.size()) break;
    out[widest] = true;
    total -= widths[widest] + kGap;
  }
  return out;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.name = column.name || std::ranges::find(kNames, column.title) != kNames.end();
}

Tone tone_of_severity(std::string_view severity) {
  if (severity == "error") return Tone::bad;
  return severity == "warning" ? Tone::warning : Tone::plain;
}

std::string toned(std::string_view text, Tone tone, const Terminal& terminal) {
  if (!terminal.color || tone == Tone::plain) return std::string(text);
  return std::string(start_of(tone)) + std::string(text) + "\033[0m";
}

void Table::add(std::vector<Cell> cells) {
  RAILWEAVE_CHECK(cells.size() == columns_.size(), "a row has a cell for every column");
  for (auto& cell : cells) cell.text = printable(cell.text);
  rows_.push_back(std::move(cells));
}

std::string Table::text(const Terminal& terminal, std::size_t indent) const {
  std::vector<std::size_t> widths;
  for (const auto& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i].text));
  }
  const std::size_t room = terminal.columns > indent ? terminal.columns - indent : 0;
  std::vector<bool> out_of_sight(columns_.size(), false);
  const bool whole = std::ranges::any_of(columns_, &Column::name);
  if (terminal.columns > 0) {
    shrink(widths, columns_, room);
    out_of_sight = left_out(widths, columns_, room);
  }

  std::string out;
  const auto write_row = [&](const auto& cell_at) {
    out.append(indent, ' ');
    std::size_t used = 0;
    std::size_t blanks = 0;  // owed before the next text
    bool first = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (out_of_sight[i]) continue;
      const auto& [text, tone] = cell_at(i);
      std::string shown = shortened(text, widths[i]);
      std::size_t width = display_width(shown);
      const std::size_t padding = widths[i] - width;
      if (!first) blanks += kGap;
      first = false;
      if (columns_[i].align == Align::right) blanks += padding;
      if (width > 0) {
        if (terminal.columns > 0 && !whole) {
          if (used + blanks >= room) break;
          shown = shortened(shown, room - used - blanks);
          width = display_width(shown);
        }
        out.append(blanks, ' ');
        out += toned(shown, tone, terminal);
        used += blanks + width;
        blanks = 0;
      }
      if (columns_[i].align == Align::left) blanks += padding;
    }
    out += '\n';
  };
  if (terminal.headings) write_row([&](std::size_t i) { return Cell(columns_[i].title, Tone::faint); });
  for (const auto& row : rows_) write_row([&](std::size_t i) -> const Cell& { return row[i]; });
  return out;
}

void Sheet::add(std::string name, Cell value) {
  value.text = printable(value.text);
  lines_.emplace_back(std::move(name), std::move(value));
}

std::string Sheet::text(const Terminal& terminal) const {
  std::size_t width = 0;
  for (const auto& [name, value] : lines_) width = std::max(width, display_width(name));
  std::string out;
  for (const auto& [name, value] : lines_) {
    out += name + ":";
    if (!value.text.empty()) {
      out.append(width - display_width(name) + kGap, ' ');
      out += toned(value.text, value.tone, terminal);
    }
    out += '\n';
  }
  return out;
}

}  // namespace railweave::cli
