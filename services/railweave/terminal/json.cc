#include "services/railweave/terminal/json.h"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

std::string at_line(std::string_view text, std::size_t byte, std::string_view source) {
  const auto before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto last = before.rfind('\n');
  const std::size_t column = last == std::string_view::npos ? before.size() : before.size() - last - 1;
  std::string where(source);
  if (!where.empty()) where += ": ";
  return fmt::format("{}line {}, column {}", where, line, std::max<std::size_t>(column, 1));
}

// Offset at which nesting exceeds the limit, found before the document is parsed; npos: it does not.
std::size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

// nlohmann's message without its error number.
std::string reason(const char* what) {
  std::string_view text = what;
  for (const std::string_view mark : {": syntax error ", "] "}) {
    if (const auto at = text.find(mark); at != std::string_view::npos) {
      text.remove_prefix(at + mark.size());
      break;
    }
  }
  return printable(text.substr(0, 200));
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view source) {
  if (const auto deep = too_deep_at(text); deep != std::string_view::npos) {
    return fail(ErrorKind::malformed, "json.tooDeep", fmt::format("nested deeper than {} levels", kMaxJsonDepth),
                at_line(text, deep, source));
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    return fail(ErrorKind::malformed, "json.unreadable", "not JSON: " + reason(error.what()),
                at_line(text, error.byte, source));
  } catch (const Json::exception& error) {
    return fail(ErrorKind::malformed, "json.unreadable", "not JSON: " + reason(error.what()), std::string(source));
  }
}

std::string json_text(const Json& value) {
  return printable_json(value.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string compact_json(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

const Json& field(const Json& object, FieldName name) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(std::string(name.text()));
  return found == object.end() ? nothing : *found;
}

const Json& list(const Json& object, FieldName name) {
  static const Json empty = Json::array();
  const Json& value = field(object, name);
  return value.is_array() ? value : empty;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return value.dump();
  if (value.is_number_float()) {
    char digits[32];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value.get<double>()).ptr;  // 400, not 400.0
    return {std::begin(digits), end};
  }
  return "-";
}

std::string text_of(const Json& object, FieldName name) {
  std::string text = text_of(field(object, name));
  return text.empty() ? "-" : text;
}

std::string time_of(const Json& object, FieldName name) {
  std::string text = text_of(object, name);
  const auto fraction = text.find('.');
  if (fraction != std::string::npos && text.ends_with('Z')) text.replace(fraction, text.size() - 1 - fraction, "");
  return text;
}

std::uint64_t count_of(const Json& object, FieldName name) {
  const Json& value = field(object, name);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

bool flag_of(const Json& object, FieldName name) {
  const Json& value = field(object, name);
  return value.is_boolean() && value.get<bool>();
}

std::string percent_of(const Json& object, FieldName name) {
  const Json& share = field(object, name);
  if (!share.is_number()) return "-";
  const auto tenths = static_cast<std::uint64_t>(share.get<double>() * 1000 + 0.5);
  return fmt::format("{}.{} %", tenths / 10, tenths % 10);
}

std::string joined(const Json& strings, std::size_t most) {
  std::string text;
  std::size_t count = 0;
  if (strings.is_array()) {
    for (const auto& item : strings) {
      if (count++ == most) break;
      text += (text.empty() ? "" : ", ") + text_of(item);
    }
    if (strings.size() > most) text += fmt::format(" +{}", strings.size() - most);
  }
  return text.empty() ? "-" : text;
}

}  // namespace railweave::cli
