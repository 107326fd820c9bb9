// What the pictures that commands write have in common: a frame that is light or dark as the reader's screen is, and
// text that fits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railweave::cli {

// Opens the picture. Classes: "grid" and "axis" for lines, "title" and "note" for text; `style` adds rules of its own.
std::string svg_head(int width, int height, std::string_view style = {});

// Ready for text and attributes in single quotes.
std::string svg_escaped(std::string_view text);

// At least what the text takes in the picture's 12 px letters, whichever sans-serif the reader has.
int svg_text_width(std::string_view text);

}  // namespace railweave::cli
