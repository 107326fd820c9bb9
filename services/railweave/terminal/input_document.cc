#include "services/railweave/terminal/input_document.h"

#include <optional>
#include <regex>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "fabric/base/decimal_number.h"
#include "fabric/base/whole_number.h"
#include "services/railweave/terminal/input_file.h"
#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kMaxValues = 1'000'000;

std::unexpected<Error> unreadable(const std::string& message, const YAML::Mark& mark, std::string_view source) {
  std::string where(source);
  if (!mark.is_null()) {
    where += fmt::format("{}{}, column {}", where.empty() ? "line " : ": line ", mark.line + 1, mark.column + 1);
  }
  return fail(ErrorKind::malformed, "yaml.unreadable", "not YAML: " + printable(message), std::move(where));
}

std::optional<Json> number_of(const std::string& text) {
  const std::string_view digits = std::string_view(text).substr(text.starts_with('+') ? 1 : 0);
  if (const auto count = whole_number<std::uint64_t>(digits)) return Json(*count);
  if (const auto count = whole_number<std::int64_t>(digits)) return Json(*count);
  static const std::regex decimal(R"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)");
  if (text.size() > 64 || !std::regex_match(text, decimal)) return std::nullopt;
  const auto value = decimal_number(digits);
  return value ? std::optional<Json>(*value) : std::nullopt;
}

Json scalar_of(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!" || node.Tag().ends_with(":str")) return text;  // in quotes
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (auto number = number_of(text)) return std::move(*number);
  return text;
}

class Conversion {
 public:
  explicit Conversion(std::string_view source) : source_(source) {}

  Result<Json> of(const YAML::Node& node, int depth) {  // NOLINT(misc-no-recursion): depth is bounded
    if (depth > kMaxJsonDepth) {
      return unreadable(fmt::format("nested deeper than {} levels", kMaxJsonDepth), node.Mark(), source_);
    }
    if (++values_ > kMaxValues) {
      return unreadable(fmt::format("more than {} values", kMaxValues), node.Mark(), source_);
    }
    if (node.IsMap()) {
      Json object = Json::object();
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) return unreadable("a field's name is no text", entry.first.Mark(), source_);
        const std::string& name = entry.first.Scalar();
        if (object.contains(name)) return unreadable("'" + name + "' is given twice", entry.first.Mark(), source_);
        auto value = of(entry.second, depth + 1);
        if (!value) return value;
        object[name] = std::move(*value);
      }
      return object;
    }
    if (node.IsSequence()) {
      Json items = Json::array();
      for (const auto& entry : node) {
        auto value = of(entry, depth + 1);
        if (!value) return value;
        items.push_back(std::move(*value));
      }
      return items;
    }
    return node.IsScalar() ? scalar_of(node) : Json(nullptr);
  }

 private:
  std::string_view source_;
  std::size_t values_ = 0;
};

}  // namespace

Result<Json> parse_yaml(std::string_view text, std::string_view source) {
  try {
    const auto documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) {
      return unreadable(fmt::format("there are {} documents; one is expected", documents.size()), documents[1].Mark(),
                        source);
    }
    if (documents.empty()) return Json(nullptr);
    return Conversion(source).of(documents.front(), 0);
  } catch (const YAML::ParserException& error) {
    return unreadable(error.msg, error.mark, source);
  } catch (const YAML::Exception& error) {
    return unreadable(error.msg, error.mark, source);
  }
}

Result<Json> parse_document(std::string_view text, std::string_view source) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) return parse_json(text, source);
  auto parsed = parse_yaml(text, source);
  if (parsed && !parsed->is_structured()) {
    return fail(ErrorKind::malformed, "json.unreadable", "neither JSON nor YAML with fields", std::string(source));
  }
  return parsed;
}

Result<Json> read_document(const std::string& path, std::size_t limit_bytes) {
  auto text = read_input(path, limit_bytes);
  if (!text) return std::unexpected(text.error());
  return parse_document(*text, source_name(path));
}

Result<std::string> read_fabric_text(const std::string& path, std::size_t limit_bytes) {
  auto text = read_input(path, limit_bytes);
  if (!text || !(path.ends_with(".yaml") || path.ends_with(".yml"))) return text;
  auto document = parse_document(*text, source_name(path));
  if (!document) return std::unexpected(document.error());
  return compact_json(*document);
}

}  // namespace railweave::cli
