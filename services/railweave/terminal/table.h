// Tables and "Name: value" sheets for people: headings in capitals, numbers to the right, cut to the terminal's width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/railweave/terminal/terminal.h"

namespace railweave::cli {

enum class Tone : unsigned char { plain, good, warning, bad, faint };

struct Cell {
  std::string text;  // untrusted: made printable when it is added
  Tone tone = Tone::plain;

  Cell() = default;
  Cell(std::string t, Tone how = Tone::plain) : text(std::move(t)), tone(how) {}  // NOLINT: a text is a cell
  Cell(std::string_view t, Tone how = Tone::plain) : text(t), tone(how) {}        // NOLINT
  Cell(const char* t, Tone how = Tone::plain) : text(t), tone(how) {}             // NOLINT
};

enum class Align : unsigned char { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  bool name = false;  // what the next command takes is never shortened or left out
  // What a table too wide for the terminal does without first, as another column says it too: a time beside its age.
  bool spare = false;
  bool beneath = false;  // sentences: in such a table on lines of their own, below their row
};

class Table {
 public:
  // Columns with the titles of such things (JOB, NODE, LINK, ...) are names without being marked.
  explicit Table(std::vector<Column> columns);

  void add(std::vector<Cell> cells);  // one per column
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }

  // Lines end with \n, without trailing blanks. A table too wide for the terminal leaves out what is spare, then has its
  // sentences beneath and its widest left-aligned columns shortened, then, where it has names, its widest other columns
  // left out; without names its lines are cut.
  [[nodiscard]] std::string text(const Terminal& terminal, std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "Name:   value" lines with aligned values.
class Sheet {
 public:
  void add(std::string name, Cell value);
  [[nodiscard]] std::string text(const Terminal& terminal) const;

 private:
  std::vector<std::pair<std::string, Cell>> lines_;
};

// The printable text in the tone's colour, where the terminal shows colours.
std::string toned(std::string_view text, Tone tone, const Terminal& terminal);

// The text in lines of at most this number of columns, broken between words where there are any; each ends with \n.
std::string wrapped_lines(std::string_view text, std::size_t indent, std::size_t columns);

// Of "error", "warning" and other severities.
Tone tone_of_severity(std::string_view severity);

}  // namespace railweave::cli
