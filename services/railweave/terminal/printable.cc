#include "services/railweave/terminal/printable.h"

#include <cstdint>
#include <cstdio>

namespace railweave::cli {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// RFC 3629: no overlong forms, no surrogates, at most U+10FFFF.
CodePoint decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  std::size_t length = 0;
  std::uint32_t value = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    value = lead & 0x1FU;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    value = lead & 0x0FU;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    value = lead & 0x07U;
  }
  if (length == 0 || text.size() - at < length) return {lead, 1, false};
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {lead, 1, false};
    value = value << 6U | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  if (overlong || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {lead, 1, false};
  return {value, length, true};
}

bool is_control(std::uint32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

// Line and paragraph separators, embeddings, overrides, isolates and directional marks (Unicode 15, 23.2 and UAX #9).
bool reorders(std::uint32_t c) {
  return (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F || c == 0x061C ||
         c == 0xFEFF;
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

// The ranges of Unicode's EastAsianWidth.txt that matter for names; a miss costs alignment, nothing else.
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
    if (!point.valid || is_control(point.value) || reorders(point.value)) {
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
    clean = point.value < 0x7F || (point.valid && !is_control(point.value) && !reorders(point.value));
    at += point.bytes;
  }
  if (clean) return text;
  std::string out;
  out.reserve(text.size() + 64);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    const bool layout = point.value < 0x20;
    if (point.valid && !layout && (is_control(point.value) || reorders(point.value))) {
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
