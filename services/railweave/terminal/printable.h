// Text from elsewhere (names in a fabric, messages of a server, file names) made safe to show: nothing that reaches a
// terminal can move its cursor, change its colours or reorder its letters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railweave::cli {

// Control characters (C0, DEL, C1), bytes that are not UTF-8, line separators and the marks that reorder bidirectional
// text as \n, \t, \x1b, \u202e; the rest as it is. Never contains a newline.
std::string printable(std::string_view text);

// The same for text that holds only such characters inside JSON strings, as JSON does once its newlines are layout:
// DEL, C1 and bidirectional marks become \u007f, and the value stays what it was. Other bytes are left alone.
std::string printable_json(std::string text);

// How many columns of a terminal printable text takes: 2 for East Asian wide letters and emoji, 0 for combining marks.
std::size_t display_width(std::string_view text);

// Printable text cut to so many columns, with a final "…" where something is left out.
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace railweave::cli
