// What `fields` may select of the items of each list of the contract.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace railweave::api {

struct ListField {
  std::string_view path;  // of the list: "/v1/jobs"
  std::string_view name;
};

inline constexpr auto kListFields = std::to_array<ListField>({
#include "api/contract/list_fields.inc"
});
static_assert(std::ranges::is_sorted(kListFields, {}, &ListField::path));

// By name; none: the list does not take `fields`.
inline std::vector<std::string_view> list_fields(std::string_view path) {
  std::vector<std::string_view> names;
  for (const auto& field : std::ranges::equal_range(kListFields, path, {}, &ListField::path))
    names.push_back(field.name);
  return names;
}

}  // namespace railweave::api
