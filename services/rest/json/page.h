// One page of a list: {"items": [...], "nextCursor": "...", "seq": 8812}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace railweave::api {

class PageWriter {
 public:
  // `fields`: top-level fields to keep of each item; empty: all.
  PageWriter(std::size_t limit, std::vector<std::string> fields) : limit_(limit), fields_(std::move(fields)) {}

  [[nodiscard]] bool full() const { return count_ >= limit_; }
  void add(std::string_view item_json);  // an object
  // next_cursor "" when this was the last page.
  [[nodiscard]] std::string finish(std::string_view next_cursor, std::uint64_t seq) &&;

 private:
  std::size_t limit_;
  std::vector<std::string> fields_;
  std::size_t count_ = 0;
  std::string items_;
};

}  // namespace railweave::api
