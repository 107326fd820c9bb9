// One numbered step of a store's schema, from the file that it comes from.
#pragma once

#include <cstdint>
#include <string_view>

namespace railweave::db {

struct Migration {
  std::int32_t version = 0;  // 1, 2, 3, ...
  std::string_view name;
  std::string_view sha256;  // of the file it comes from
  std::string_view sql;
};

}  // namespace railweave::db
