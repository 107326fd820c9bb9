// Builds the path and query of a request, percent-encoded.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/text/percent.h"

namespace railweave::cli {

class Target {
 public:
  explicit Target(std::string_view path) : text_(path) {}  // "/v1/jobs", already encoded

  Target& segment(std::string_view value) {  // only before a query
    text_ += '/' + percent_encode(value);
    return *this;
  }
  Target& path(std::string_view encoded) {
    text_ += encoded;
    return *this;
  }
  Target& query(std::string_view name, std::string_view value) {
    text_ += first_ ? '?' : '&';
    first_ = false;
    text_ += std::string(name) + '=' + percent_encode(value);
    return *this;
  }
  // Omitted where the value is empty.
  Target& filter(std::string_view name, std::string_view value) { return value.empty() ? *this : query(name, value); }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool first_ = true;
};

}  // namespace railweave::cli
