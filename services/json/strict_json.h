// Reading JSON that comes from outside: bounded depth, no duplicate or unknown fields, numbers that fit. Every error
// names the place by JSON pointer (RFC 6901), or by line and column where the text is not JSON at all.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "fabric/base/error.h"

namespace railweave::api {

using Json = nlohmann::json;

// Depth at most 16 levels.
Result<Json> parse_json(std::string_view text);

// Text of a request as messages quote it: at most about 100 bytes of it, so that no answer is as large as its request.
std::string shown(std::string_view text);

// Reads the fields of one object. The first error sticks and every further read does nothing, so that a decoder reads
// as a list of fields; finish() returns the error, or names the first field that was not read.
class ObjectReader {
 public:
  // Not an object: the error is set at once.
  ObjectReader(const Json& value, std::string pointer);

  [[nodiscard]] bool has(std::string_view field) const;

  void read(std::string_view field, std::string& into);
  void read(std::string_view field, std::optional<std::string>& into);
  // The same where null is refused: it is not a field left out.
  void read_text(std::string_view field, std::optional<std::string>& into);
  void read(std::string_view field, bool& into);
  // Integers only; 1e3 is one, 1.5 is not.
  void read(std::string_view field, std::uint64_t& into, std::uint64_t max = std::numeric_limits<std::int64_t>::max());
  void read(std::string_view field, std::uint32_t& into);
  void read(std::string_view field, double& into);  // finite; whether it makes sense is for the caller to say
  void read(std::string_view field, std::optional<std::uint64_t>& into);  // null: none
  void read(std::string_view field, std::optional<std::uint32_t>& into);
  void read(std::string_view field, std::optional<double>& into);
  void read(std::string_view field, std::vector<std::string>& into, std::size_t max_items);
  void read(std::string_view field, std::map<std::string, std::string>& into, std::size_t max_items);
  void require(std::string_view field);

  // The value itself, marked as read; null: not there.
  [[nodiscard]] const Json* take(std::string_view field);
  [[nodiscard]] std::string pointer(std::string_view field) const;

  void set_error(Error error);
  void set_error(std::string_view field, std::string message, std::string hint = {});
  [[nodiscard]] bool failed() const { return error_.has_value(); }

  // Unknown fields are refused by name.
  [[nodiscard]] Result<void> finish();

 private:
  const Json* object_ = nullptr;
  std::string pointer_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace railweave::api
