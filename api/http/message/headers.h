// Header fields in the order they came; names compare without regard to case. Not thread-safe for writing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/base/lower_case.h"

namespace railweave::api {

// Without leading and trailing spaces and tabs.
std::string_view trimmed(std::string_view text);

class Headers {
 public:
  using Field = std::pair<std::string, std::string>;

  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // Replaces every field of that name.
  void set(std::string name, std::string value);
  void remove(std::string_view name);

  // The first field's value; nullptr when there is none. Valid until the next change.
  [[nodiscard]] const std::string* find(std::string_view name) const;
  // As find(), with "" for absent.
  [[nodiscard]] std::string_view value(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }

  // The elements of a comma-separated list over all fields of that name, trimmed, empty ones left out. Commas inside
  // double quotes do not separate.
  [[nodiscard]] std::vector<std::string_view> list(std::string_view name) const;

  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  [[nodiscard]] bool empty() const { return fields_.empty(); }
  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

// Whether the field can be sent as it is: a token, and a value without control characters (which could forge a second
// field or a second response).
bool is_sendable(const Headers::Field& field);

}  // namespace railweave::api
