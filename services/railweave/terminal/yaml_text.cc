#include "services/railweave/terminal/yaml_text.h"

#include <algorithm>

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

// Whether every YAML reader, of 1.1 or 1.2, reads the text as a string without quotes. Deliberately strict.
bool is_plain(const std::string& text) {
  if (text.empty()) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!letter(text.front()) && text.front() != '/') return false;
  const bool words = std::ranges::all_of(text, [&](char c) {
    return letter(c) || digit(c) || c == '-' || c == '_' || c == '.' || c == '/' || c == ' ' || c == '+';
  });
  if (!words || text.back() == ' ') return false;
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const char* reserved : {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}) {
    if (lower == reserved) return false;
  }
  return true;
}

void emit_text(YAML::Emitter& out, const std::string& text) {
  if (is_plain(text)) {
    out << text;
  } else {
    out << YAML::DoubleQuoted << text;
  }
}

// Depth is bounded by parse_json().
void emit(YAML::Emitter& out, const Json& value) {  // NOLINT(misc-no-recursion)
  if (value.is_object()) {
    if (value.empty()) {
      out << YAML::Flow << YAML::BeginMap << YAML::EndMap;
      return;
    }
    out << YAML::BeginMap;
    for (const auto& [name, item] : value.items()) {
      out << YAML::Key;
      emit_text(out, name);
      out << YAML::Value;
      emit(out, item);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    const bool scalars =
        std::ranges::all_of(value, [](const Json& item) { return !item.is_structured(); }) && value.size() <= 16;
    if (scalars) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const auto& item : value) emit(out, item);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    emit_text(out, value.get_ref<const std::string&>());
  } else if (value.is_null()) {
    out << YAML::Null;  // as text it would be quoted
  } else {
    out << value.dump();  // a number, true or false
  }
}

}  // namespace

std::string yaml_text(const Json& value) {
  YAML::Emitter out;
  emit(out, value);
  // Remaining unprintable characters stand inside double quotes, where \u escapes mean the same as in JSON.
  return printable_json(std::string(out.c_str(), out.size())) + "\n";
}

}  // namespace railweave::cli
