// Strings and numbers as JSON (RFC 8259), appended to a text: for writers that stream, without a tree or temporary
// copies. Used by the native format, certificates and problem documents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace railweave {

// In quotes, with escapes for quotes, backslashes and control characters; bytes that are not UTF-8 become U+FFFD, so
// that the result is always valid.
void append_json_string(std::string& out, std::string_view text);
void append_json_number(std::string& out, std::uint64_t value);
void append_json_decimal(std::string& out, float value);  // the shortest text that reads back as the same float

// The commas between the members of one object or array: call before each member.
class JsonCommas {
 public:
  void operator()(std::string& out) {
    if (!first_) out += ',';
    first_ = false;
  }
  [[nodiscard]] bool none_yet() const { return first_; }

 private:
  bool first_ = true;
};

}  // namespace railweave
