#include "services/railweave/terminal/svg.h"

#include "services/railweave/terminal/printable.h"

namespace railweave::cli {

std::string svg_head(int width, int height, std::string_view style) {
  const std::string w = std::to_string(width), h = std::to_string(height);
  std::string svg =
      "<svg xmlns='http://www.w3.org/2000/svg' width='" + w + "' height='" + h + "' viewBox='0 0 " + w + " " + h +
      "' font-family='sans-serif' font-size='12'>\n<style>text{fill:#222}.paper{fill:#fff}.grid{stroke:#ddd}"
      ".axis{stroke:#444}.title{font-weight:bold;font-size:13px}.note{fill:#666;font-size:11px}";
  svg += style;
  svg +=
      "@media (prefers-color-scheme:dark){text{fill:#ddd}.paper{fill:#16181c}.grid{stroke:#3a3d42}.axis{stroke:#aaa}"
      ".note{fill:#9a9a9a}}</style>\n<rect class='paper' width='" +
      w + "' height='" + h + "'/>\n";
  return svg;
}

std::string svg_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += c;
    }
  }
  return out;
}

int svg_text_width(std::string_view text) { return static_cast<int>(display_width(text) * 15 / 2) + 2; }

}  // namespace railweave::cli
