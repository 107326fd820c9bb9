#include "services/json/strict_json.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "fabric/base/text/utf8.h"

namespace railweave::api {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxShownBytes = 100;
constexpr std::size_t kMaxPointerField = 300;  // bytes; a longer field is quoted in part, and its object pointed at

std::string line_and_column(std::string_view text, std::size_t byte) {
  byte = std::min(byte, text.size());
  const auto before = text.substr(0, byte);
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto last_newline = before.rfind('\n');
  const auto column = last_newline == std::string_view::npos ? byte : byte - last_newline - 1;
  return fmt::format("line {}, column {}", line, std::max<std::size_t>(column, 1));
}

std::string escape_pointer(std::string_view field) {
  std::string escaped;
  for (const char c : field) {
    if (c == '~') {
      escaped += "~0";
    } else if (c == '/') {
      escaped += "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::optional<std::uint64_t> as_unsigned(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number >= 0 && number < 9.0e15 && std::floor(number) == number) return static_cast<std::uint64_t>(number);
  }
  return std::nullopt;
}

}  // namespace

std::string shown(std::string_view text) {
  const std::string_view part = utf8_prefix(text, kMaxShownBytes);
  return fmt::format("'{}{}", part, part.size() < text.size() ? "...'" : "'");
}

Result<Json> parse_json(std::string_view text) {
  bool too_deep = false;
  std::string duplicate;
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth >= kMaxDepth) too_deep = true;
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.empty() &&
        !keys.back().insert(parsed.get_ref<const std::string&>()).second && duplicate.empty()) {
      duplicate = parsed.get<std::string>();
    }
    return !too_deep;
  };
  try {
    Json value = Json::parse(text.begin(), text.end(), watch);
    if (too_deep) {
      return fail(ErrorKind::malformed, "body.tooDeep", fmt::format("the JSON is nested deeper than {}", kMaxDepth));
    }
    if (!duplicate.empty()) {
      return fail(ErrorKind::malformed, "body.duplicateField", "the field " + shown(duplicate) + " is given twice");
    }
    return value;
  } catch (const Json::parse_error& error) {
    std::string what = error.what();
    if (const auto at = what.rfind("; "); at != std::string::npos) what = what.substr(at + 2);
    if (const auto at = what.rfind(": syntax error"); at != std::string::npos) what = what.substr(at + 2);
    return fail(ErrorKind::malformed, "body.notJson", "not JSON: " + what, line_and_column(text, error.byte));
  } catch (const Json::exception& error) {
    return fail(ErrorKind::malformed, "body.notJson", std::string("not JSON: ") + error.what());
  }
}

ObjectReader::ObjectReader(const Json& value, std::string pointer) : pointer_(std::move(pointer)) {
  if (value.is_object()) {
    object_ = &value;
  } else {
    set_error({ErrorKind::invalid,
               "body.wrongType",
               std::string("expected an object, not ") + value.type_name(),
               pointer_,
               {}});
  }
}

void ObjectReader::set_error(Error error) {
  if (!error_) error_ = std::move(error);
}

void ObjectReader::set_error(std::string_view field, std::string message, std::string hint) {
  set_error({ErrorKind::invalid, "body.invalidField", std::move(message), pointer(field), std::move(hint)});
}

std::string ObjectReader::pointer(std::string_view field) const { return pointer_ + "/" + escape_pointer(field); }

bool ObjectReader::has(std::string_view field) const {
  return object_ != nullptr && object_->contains(std::string(field));
}

const Json* ObjectReader::take(std::string_view field) {
  known_.emplace_back(field);
  if (object_ == nullptr || error_) return nullptr;
  const auto found = object_->find(std::string(field));
  return found == object_->end() ? nullptr : &*found;
}

void ObjectReader::require(std::string_view field) {
  if (object_ != nullptr && !has(field)) {
    set_error(
        {ErrorKind::invalid, "body.missingField", fmt::format("the field '{}' is missing", field), pointer(field), {}});
  }
}

void ObjectReader::read(std::string_view field, std::string& into) {
  const Json* value = take(field);
  if (value == nullptr) return;
  if (!value->is_string()) return set_error(field, std::string("expected a string, not ") + value->type_name());
  into = value->get<std::string>();
}

void ObjectReader::read(std::string_view field, std::optional<std::string>& into) {
  const Json* value = take(field);
  if (value == nullptr || value->is_null()) return;
  if (!value->is_string()) return set_error(field, std::string("expected a string, not ") + value->type_name());
  into = value->get<std::string>();
}

void ObjectReader::read_text(std::string_view field, std::optional<std::string>& into) {
  std::string text;
  read(field, text);
  if (has(field)) into = std::move(text);
}

void ObjectReader::read(std::string_view field, bool& into) {
  const Json* value = take(field);
  if (value == nullptr) return;
  if (!value->is_boolean()) return set_error(field, std::string("expected true or false, not ") + value->type_name());
  into = value->get<bool>();
}

void ObjectReader::read(std::string_view field, std::uint64_t& into, std::uint64_t max) {
  const Json* value = take(field);
  if (value == nullptr) return;
  const auto number = as_unsigned(*value);
  if (!number || *number > max) {
    return set_error(field, fmt::format("expected a whole number from 0 to {}, not {}", max, shown(value->dump())));
  }
  into = *number;
}

void ObjectReader::read(std::string_view field, std::uint32_t& into) {
  std::uint64_t wide = into;
  read(field, wide, std::numeric_limits<std::uint32_t>::max());
  into = static_cast<std::uint32_t>(wide);
}

void ObjectReader::read(std::string_view field, double& into) {
  const Json* value = take(field);
  if (value == nullptr) return;
  if (!value->is_number()) return set_error(field, "expected a number, not " + shown(value->dump()));
  into = value->get<double>();
}

void ObjectReader::read(std::string_view field, std::optional<std::uint64_t>& into) {
  if (const Json* value = take(field); value == nullptr || value->is_null()) return;
  std::uint64_t number = 0;
  read(field, number);
  into = number;
}

void ObjectReader::read(std::string_view field, std::optional<std::uint32_t>& into) {
  if (const Json* value = take(field); value == nullptr || value->is_null()) return;
  std::uint32_t number = 0;
  read(field, number);
  into = number;
}

void ObjectReader::read(std::string_view field, std::optional<double>& into) {
  if (const Json* value = take(field); value == nullptr || value->is_null()) return;
  double number = 0;
  read(field, number);
  into = number;
}

void ObjectReader::read(std::string_view field, std::vector<std::string>& into, std::size_t max_items) {
  const Json* value = take(field);
  if (value == nullptr) return;
  if (!value->is_array()) return set_error(field, std::string("expected a list of strings, not ") + value->type_name());
  if (value->size() > max_items) return set_error(field, fmt::format("at most {} entries are allowed", max_items));
  for (const auto& item : *value) {
    if (!item.is_string())
      return set_error(field, std::string("expected a list of strings; it contains ") + item.type_name());
    into.push_back(item.get<std::string>());
  }
}

void ObjectReader::read(std::string_view field, std::map<std::string, std::string>& into, std::size_t max_items) {
  const Json* value = take(field);
  if (value == nullptr) return;
  if (!value->is_object())
    return set_error(field, std::string("expected an object of strings, not ") + value->type_name());
  if (value->size() > max_items) return set_error(field, fmt::format("at most {} entries are allowed", max_items));
  for (const auto& [key, item] : value->items()) {
    if (!item.is_string()) return set_error(field, "the value of " + shown(key) + " must be a string");
    into.emplace(key, item.get<std::string>());
  }
}

Result<void> ObjectReader::finish() {
  if (error_) return std::unexpected(*error_);
  for (const auto& [key, value] : object_->items()) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const std::string fields = fmt::format("{}", fmt::join(known_, ", "));
    return fail(ErrorKind::invalid, "body.unknownField", "there is no field " + shown(key) + " here",
                key.size() > kMaxPointerField ? pointer_ : pointer(key), "the fields are " + fields);
  }
  return {};
}

}  // namespace railweave::api
