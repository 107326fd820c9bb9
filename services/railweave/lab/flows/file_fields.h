// Reading fields of a JSON file that the user wrote: what is wrong is said with the file and the place in it.
#pragma once

#include <string>
#include <vector>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

class FileFields {
 public:
  // `where`: "jobs.json: /jobs/0". Throws CommandFailure where the value is no object.
  FileFields(const Json& value, std::string where);

  // The default where the field is missing. Throw CommandFailure for another type or a value out of range.
  std::string text(const char* name, std::string otherwise = {});
  double number(const char* name, double least, double most, double otherwise);
  bool flag(const char* name, bool otherwise);
  [[nodiscard]] bool has(const char* name) const { return value_.contains(name); }
  void require(const char* name) const;
  void finish() const;  // throws for a field that nobody asked for

  [[noreturn]] void refuse(const char* name, std::string message, std::string hint = {}) const;

 private:
  const Json* take(const char* name);
  const Json& value_;
  std::string where_;
  std::vector<std::string> known_;
};

// The list itself, or that in the field of an object. Throws CommandFailure.
const Json& file_list(const Json& document, const char* field, const std::string& source);
Json read_json_file(const std::string& path, std::size_t limit_bytes);

}  // namespace railweave::cli
