#include "services/rest/json/page.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace railweave::api {

void PageWriter::add(std::string_view item_json) {
  if (count_++ > 0) items_ += ',';
  if (fields_.empty()) {
    items_ += item_json;
    return;
  }
  auto item = nlohmann::ordered_json::parse(item_json);
  auto kept = nlohmann::ordered_json::object();
  for (auto& [name, value] : item.items()) {
    if (std::ranges::find(fields_, name) != fields_.end()) kept[name] = std::move(value);
  }
  items_ += kept.dump();
}

std::string PageWriter::finish(std::string_view next_cursor, std::uint64_t seq) && {
  std::string page = R"({"items":[)" + std::move(items_) + R"(],"nextCursor":)";
  page += next_cursor.empty() ? "null" : nlohmann::json(next_cursor).dump();
  return page + R"(,"seq":)" + std::to_string(seq) + "}";
}

}  // namespace railweave::api
