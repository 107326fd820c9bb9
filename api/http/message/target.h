// The request target: path segments and query parameters, decoded, with everything ambiguous refused.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::api {

// The decoded query parameters, in order; a name may occur more than once.
class QueryParams {
 public:
  using Param = std::pair<std::string, std::string>;

  void add(std::string name, std::string value) { params_.emplace_back(std::move(name), std::move(value)); }
  // The first value; nullptr when there is none.
  [[nodiscard]] const std::string* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> all(std::string_view name) const;
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::size_t size() const { return params_.size(); }
  [[nodiscard]] bool empty() const { return params_.empty(); }
  [[nodiscard]] auto begin() const { return params_.begin(); }
  [[nodiscard]] auto end() const { return params_.end(); }

 private:
  std::vector<Param> params_;
};

struct Target {
  std::string path;                   // as sent, still percent-encoded, without the query: "/v1/ports/a%2F1"
  std::vector<std::string> segments;  // decoded one by one, so an encoded "/" stays inside its segment; none for "/"
  QueryParams query;
  bool asterisk = false;  // "*", of OPTIONS
};

// Origin form ("/path?query"), absolute form ("http://host/path") and "*" (RFC 9112, 3.2). Refused as malformed: bad
// percent-encoding, control characters and bytes that are not UTF-8 (encoded or not), "." and ".." segments, fragments,
// more than 32 segments or 128 parameters.
Result<Target> parse_target(std::string_view target);

}  // namespace railweave::api
