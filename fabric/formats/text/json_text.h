// Pieces of JSON appended to a string, for writers that stream: no tree, no temporary copies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace railweave::fabric {

// In quotes, with escapes for quotes, backslashes and control characters; bytes that are not UTF-8 become U+FFFD.
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

}  // namespace railweave::fabric
