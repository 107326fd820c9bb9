// Reads fields of a JSON file written by the user; errors name the file and the place in it.
#pragma once

#include <string>
#include <vector>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

class FileFields {
 public:
  // `where`: "jobs.json: /jobs/0". Throws CommandFailure where the value is not an object.
  FileFields(const Json& value, std::string where);

  // The fallback where the field is missing. Throw CommandFailure for another type or a value out of range.
  std::string text(const char* name, std::string fallback = {});
  double number(const char* name, double least, double most, double fallback);
  bool flag(const char* name, bool fallback);
  [[nodiscard]] bool has(const char* name) const { return value_.contains(name); }
  void require(const char* name) const;
  void finish() const;  // throws for a field that was not read

  [[noreturn]] void refuse(const char* name, std::string message, std::string hint = {}) const;

 private:
  const Json* find(const char* name);
  const Json& value_;
  std::string where_;
  std::vector<std::string> known_;
};

// The document itself, or the list in a field of it. Throws CommandFailure.
const Json& file_list(const Json& document, const char* field, const std::string& source);
Json read_json_file(const std::string& path, std::size_t limit_bytes);

}  // namespace railweave::cli
