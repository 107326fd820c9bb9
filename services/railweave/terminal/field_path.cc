#include "services/railweave/terminal/field_path.h"

#include <optional>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kMaxSteps = 64;

std::unexpected<Error> bad_path(std::string_view text, std::string message) {
  return fail(ErrorKind::invalid, "cli.badPath", fmt::format("'{}': {}", text, std::move(message)), {},
              "a path is written as .items[*].id or .ends[0].port");
}

// "\n" and "\t" in the quotes of a template.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 'n' ? '\n' : (c == 't' ? '\t' : c);
  }
  return out;
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? std::string() : compact_json(value);
}

}  // namespace

Result<FieldPath> FieldPath::parse(std::string_view text) {
  FieldPath path;
  std::string_view rest = text;
  if (rest.starts_with('$')) rest.remove_prefix(1);
  bool first = true;
  while (!rest.empty() && rest != ".") {
    if (path.steps_.size() == kMaxSteps) return bad_path(text, fmt::format("longer than {} steps", kMaxSteps));
    if (rest.front() == '[') {
      const auto close = rest.find(']');
      if (close == std::string_view::npos) return bad_path(text, "a ] is missing");
      const auto inside = rest.substr(1, close - 1);
      rest.remove_prefix(close + 1);
      Step step;
      if (inside == "*") {
        step.kind = Step::Kind::all;
      } else if (inside.size() >= 2 && inside.front() == '\'' && inside.back() == '\'') {
        step.name = inside.substr(1, inside.size() - 2);
      } else {
        step.kind = Step::Kind::index;
        const auto index = whole_number<decltype(step.index)>(inside);
        if (!index) return bad_path(text, "between [ and ] stands a number, * or a name in quotes");
        step.index = *index;
      }
      path.steps_.push_back(std::move(step));
    } else {
      if (rest.front() == '.') {
        rest.remove_prefix(1);
      } else if (!first) {
        return bad_path(text, fmt::format("a . is missing before '{}'", rest));
      }
      const auto name = rest.substr(0, rest.find_first_of(".["));
      if (name.empty()) {
        if (rest.starts_with('[')) continue;
        return bad_path(text, "a field's name is missing");
      }
      rest.remove_prefix(name.size());
      Step step;
      if (name == "*") {
        step.kind = Step::Kind::all;
      } else {
        step.name = name;
      }
      path.steps_.push_back(std::move(step));
    }
    first = false;
  }
  return path;
}

std::vector<const Json*> FieldPath::find(const Json& document) const {
  std::vector<const Json*> found{&document};
  for (const Step& step : steps_) {
    std::vector<const Json*> next;
    for (const Json* value : found) {
      if (step.kind == Step::Kind::all) {
        if (!value->is_structured()) continue;
        for (const Json& item : *value) next.push_back(&item);
      } else if (step.kind == Step::Kind::index) {
        if (!value->is_array()) continue;
        const long size = static_cast<long>(value->size());
        const long at = step.index < 0 ? size + step.index : step.index;
        if (at >= 0 && at < size) next.push_back(&(*value)[static_cast<std::size_t>(at)]);
      } else if (const Json& inner = field(*value, foreign(step.name)); !inner.is_null()) {
        next.push_back(&inner);
      }
    }
    found = std::move(next);
  }
  return found;
}

std::string FieldPath::text(const Json& document, std::string_view between, std::string_view none) const {
  std::string out;
  bool any = false;
  for (const Json* value : find(document)) {
    if (any) out += between;
    out += value_text(*value);
    any = true;
  }
  return any ? out : std::string(none);
}

Result<FieldTemplate> FieldTemplate::parse(std::string_view text) {
  FieldTemplate parsed;
  std::optional<std::size_t> range;  // the one that is open
  if (text.find('{') == std::string_view::npos) {
    auto path = FieldPath::parse(text);
    if (!path) return std::unexpected(path.error());
    parsed.parts_.push_back({.literal = {}, .path = std::move(*path), .is_path = true});
    return parsed;
  }
  while (!text.empty()) {
    const auto open = text.find('{');
    if (open > 0) parsed.parts_.push_back({.literal = unescaped(text.substr(0, open)), .path = {}});
    if (open == std::string_view::npos) break;
    const auto close = text.find('}', open);
    if (close == std::string_view::npos) return bad_path(text, "a } is missing");
    std::string_view inside = text.substr(open + 1, close - open - 1);
    text.remove_prefix(close + 1);
    if (inside.size() >= 2 && inside.front() == '"' && inside.back() == '"') {
      parsed.parts_.push_back({.literal = unescaped(inside.substr(1, inside.size() - 2)), .path = {}});
      continue;
    }
    if (inside == "end") {
      if (!range) return bad_path("{end}", "there is no {range ...} before it");
      parsed.parts_[*range].end = parsed.parts_.size();
      range.reset();
      continue;
    }
    const bool is_range = inside.starts_with("range ");
    if (is_range && range) return bad_path(inside, "one range inside another is not supported");
    if (is_range) inside.remove_prefix(6);
    auto path = FieldPath::parse(inside);
    if (!path) return std::unexpected(path.error());
    if (is_range) range = parsed.parts_.size();
    parsed.parts_.push_back({.literal = {}, .path = std::move(*path), .is_path = !is_range, .is_range = is_range});
  }
  if (range) return bad_path("{range}", "its {end} is missing");
  return parsed;
}

void FieldTemplate::fill(const Json& document, std::size_t begin, std::size_t end, std::string& out) const {
  for (std::size_t p = begin; p < end; ++p) {
    const Part& part = parts_[p];
    if (part.is_range) {
      for (const Json* item : part.path.find(document)) fill(*item, p + 1, part.end, out);
      p = part.end - 1;
    } else if (part.is_path) {
      out += part.path.text(document, " ", "");
    } else {
      out += part.literal;
    }
  }
}

std::string FieldTemplate::fill(const Json& document) const {
  std::string out;
  fill(document, 0, parts_.size(), out);
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

}  // namespace railweave::cli
