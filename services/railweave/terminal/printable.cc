#include "services/railweave/terminal/printable.h"

#include <cstdint>
#include <cstdio>

#include "fabric/base/text/utf8.h"

namespace railweave::cli {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// A byte that begins no character stands for itself.
CodePoint decode(std::string_view text, std::size_t at) {
  const auto [code_point, bytes] = utf8_at(text, at);
  if (bytes == 0) return {static_cast<unsigned char>(text[at]), 1, false};
  return {code_point, bytes, true};
}

void append_escape(std::string& out, std::uint32_t c, bool as_json) {
  char text[16];
  if (as_json || c > 0xFF) {
    std::snprintf(text, sizeof text, "\\u%04x", c);
  } else if (c == '\n') {
    std::snprintf(text, sizeof text, "\\n");
  } else if (c == '\t') {
    std::snprintf(text, sizeof text, "\\t");
  } else if (c == '\r') {
    std::snprintf(text, sizeof text, "\\r");
  } else {
    std::snprintf(text, sizeof text, "\\x%02x", c);
  }
  out += text;
}

bool in(std::uint32_t c, std::uint32_t first, std::uint32_t last) { return c >= first && c <= last; }

// The ranges of Unicode's EastAsianWidth.txt that matter for names; a missing range only costs alignment.
std::size_t width_of(std::uint32_t c) {
  if (in(c, 0x300, 0x36F) || in(c, 0x200B, 0x200D) || in(c, 0xFE00, 0xFE0F) || in(c, 0x20D0, 0x20FF)) return 0;
  if (in(c, 0x1100, 0x115F) || in(c, 0x2E80, 0xA4CF) || in(c, 0xAC00, 0xD7A3) || in(c, 0xF900, 0xFAFF) ||
      in(c, 0xFE30, 0xFE6F) || in(c, 0xFF00, 0xFF60) || in(c, 0xFFE0, 0xFFE6) || in(c, 0x1F300, 0x1FAFF) ||
      in(c, 0x20000, 0x3FFFD)) {
    return 2;
  }
  return 1;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    if (!point.valid || is_control(point.value) || is_separator_or_bidi_mark(point.value)) {
      append_escape(out, point.value, false);
    } else {
      out += text.substr(at, point.bytes);
    }
    at += point.bytes;
  }
  return out;
}

std::string printable_json(std::string text) {
  bool clean = true;
  for (std::size_t at = 0; at < text.size() && clean;) {
    const CodePoint point = decode(text, at);
    clean = point.value < 0x7F || (point.valid && !is_control(point.value) && !is_separator_or_bidi_mark(point.value));
    at += point.bytes;
  }
  if (clean) return text;
  std::string out;
  out.reserve(text.size() + 64);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    const bool layout = point.value < 0x20;
    if (point.valid && !layout && (is_control(point.value) || is_separator_or_bidi_mark(point.value))) {
      append_escape(out, point.value, true);
    } else {
      out += std::string_view(text).substr(at, point.bytes);
    }
    at += point.bytes;
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    columns += width_of(point.value);
    at += point.bytes;
  }
  return columns;
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = decode(text, at);
    if (used + width_of(point.value) > columns - 1) break;
    used += width_of(point.value);
    at += point.bytes;
  }
  return std::string(text.substr(0, at)) + "…";
}

}  // namespace railweave::cli
