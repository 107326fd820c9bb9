#include "services/railweave/lab/flows/file_fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {

namespace {
[[noreturn]] void refuse_at(const std::string& where, std::string message, std::string hint = {}) {
  throw CommandFailure({ErrorKind::invalid, "lab.invalidFile", std::move(message), where, std::move(hint)});
}
}  // namespace

FileFields::FileFields(const Json& value, std::string where) : value_(value), where_(std::move(where)) {
  if (!value_.is_object()) refuse_at(where_, "an object is required");
}

const Json* FileFields::find(const char* name) {
  known_.emplace_back(name);
  const auto at = value_.find(name);
  return at == value_.end() || at->is_null() ? nullptr : &*at;
}

std::string FileFields::text(const char* name, std::string fallback) {
  const Json* value = find(name);
  if (value == nullptr) return fallback;
  if (!value->is_string()) refuse(name, "a string is required");
  return value->get<std::string>();
}

double FileFields::number(const char* name, double least, double most, double fallback) {
  const Json* value = find(name);
  if (value == nullptr) return fallback;
  if (!value->is_number()) refuse(name, "a number is required");
  const double number = value->get<double>();
  if (!(number >= least && number <= most)) {
    refuse(name, "is not between " + Json(least).dump() + " and " + Json(most).dump());
  }
  return number;
}

bool FileFields::flag(const char* name, bool fallback) {
  const Json* value = find(name);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) refuse(name, "true or false is required");
  return value->get<bool>();
}

void FileFields::require(const char* name) const {
  if (!value_.contains(name)) refuse_at(where_, fmt::format("the field '{}' is missing", name));
}

void FileFields::finish() const {
  for (const auto& [name, value] : value_.items()) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    const std::string names = fmt::format("{}", fmt::join(known_, ", "));
    refuse_at(where_, "unknown field '" + name + "'", "the fields are " + names);
  }
}

void FileFields::refuse(const char* name, std::string message, std::string hint) const {
  refuse_at(where_ + "/" + name, std::move(message), std::move(hint));
}

const Json& file_list(const Json& document, const char* field, const std::string& source) {
  const Json& items = document.is_object() && document.contains(field) ? document[field] : document;
  if (!items.is_array()) refuse_at(source, fmt::format("a list is required, or an object with the list '{}'", field));
  return items;
}

Json read_json_file(const std::string& path, std::size_t limit_bytes) {
  return value_or_fail(read_document(path, limit_bytes));
}

}  // namespace railweave::cli
