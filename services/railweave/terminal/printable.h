// Makes untrusted text (names in a fabric, messages of a server, file names) safe to show: it cannot move a terminal's
// cursor, change its colours or reorder its letters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railweave::cli {

// Escapes control characters (C0, DEL, C1), bytes that are not UTF-8, line separators and the marks that reorder
// bidirectional text, as \n, \t, \x1b, \u202e; leaves the rest unchanged. The result never contains a newline.
std::string printable(std::string_view text);

// The same for JSON text, whose newlines are layout: DEL, C1 and bidirectional marks become JSON escapes (\u007f), so
// that the value stays the same. Other bytes are unchanged.
std::string printable_json(std::string text);

// Columns that printable text takes on a terminal: 2 for East Asian wide letters and emoji, 0 for combining marks.
std::size_t display_width(std::string_view text);

// Printable text cut to this number of columns, ending in "…" where it was cut.
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace railweave::cli
