#include "services/railweave/terminal/table.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;  // a column is not shortened below this
constexpr std::size_t kBeneathIndent = 4;
constexpr unsigned kUtf8Mask = 0xC0;
constexpr unsigned kUtf8Continuation = 0x80;

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

std::size_t total_width(const std::vector<std::size_t>& widths, const std::vector<bool>& out) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) sum += out[i] ? 0 : widths[i] + kGap;
  return sum < kGap ? 0 : sum - kGap;
}

// What a table does without before anything of it is shortened: the last spare column first, then what goes beneath.
std::vector<bool> done_without(const std::vector<std::size_t>& widths, const std::vector<Column>& columns,
                               std::size_t room) {
  std::vector<bool> out(columns.size(), false);
  for (std::size_t i = columns.size(); i-- > 0 && total_width(widths, out) > room;) out[i] = columns[i].spare;
  if (total_width(widths, out) > room) {
    for (std::size_t i = 0; i < columns.size(); ++i) out[i] = out[i] || columns[i].beneath;
  }
  return out;
}

// Shortens left-aligned columns until the widths fit into `room`, as far as that is possible.
void shrink(std::vector<std::size_t>& widths, const std::vector<Column>& columns, const std::vector<bool>& out,
            std::size_t room) {
  for (std::size_t excess = total_width(widths, out); excess > room; excess = total_width(widths, out)) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (out[i]) continue;
      if (columns[i].align == Align::right || columns[i].name || widths[i] <= kNarrowest) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

// Columns that are left out for names to fit: the widest first, the last of several.
void leave_out(std::vector<bool>& out, const std::vector<std::size_t>& widths, const std::vector<Column>& columns,
               std::size_t room) {
  if (std::ranges::none_of(columns, &Column::name)) return;
  std::size_t total = total_width(widths, out);
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
}

// As much of a word as fits into the columns, and at least a letter of it.
std::string_view start_of_word(std::string_view word, std::size_t columns) {
  std::size_t end = 0;
  while (end < word.size()) {
    std::size_t next = end + 1;
    while (next < word.size() && (static_cast<unsigned char>(word[next]) & kUtf8Mask) == kUtf8Continuation) ++next;
    if (end > 0 && display_width(word.substr(0, next)) > columns) break;
    end = next;
  }
  return word.substr(0, end);
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
  return fmt::format("{}{}\033[0m", start_of(tone), text);
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
    out_of_sight = done_without(widths, columns_, room);
    shrink(widths, columns_, out_of_sight, room);
    leave_out(out_of_sight, widths, columns_, room);
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
  for (const auto& row : rows_) {
    write_row([&](std::size_t i) -> const Cell& { return row[i]; });
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (out_of_sight[i] && columns_[i].beneath) out += wrapped_lines(row[i].text, indent + kBeneathIndent, room);
    }
  }
  return out;
}

std::string wrapped_lines(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::string_view word =
        start_of_word(text.substr(0, text.find(' ')), columns - std::min(indent, columns - 1));
    text.remove_prefix(word.size());
    if (text.starts_with(' ')) text.remove_prefix(1);
    const std::size_t width = display_width(word);
    const bool fits = used > 0 && indent + used + 1 + width <= columns;
    if (used > 0) out += fits ? ' ' : '\n';
    if (!fits) out.append(indent, ' ');
    out += word;
    used = fits ? used + 1 + width : width;
  }
  return used > 0 ? out + '\n' : out;
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
