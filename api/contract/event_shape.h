// What the data of each kind of event may hold as it is shown, made of the contract: whatever else a journal has is shown to no one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace railweave::api {

inline constexpr std::uint16_t kNoShape = std::numeric_limits<std::uint16_t>::max();

struct EventShape {
  std::uint16_t first_field, field_count;  // of an object, in kEventShapeFields, by name
  std::uint16_t items, values;             // what lists and maps hold; kNoShape: it is none
  bool is_single;                          // it may be a text, a number or a truth value
};
struct EventShapeField {
  std::string_view name;
  std::uint16_t shape;
};

inline constexpr EventShape kEventShapes[] = {
#include "api/contract/event_shapes.inc"
};
inline constexpr EventShapeField kEventShapeFields[] = {
#include "api/contract/event_shape_fields.inc"
};

// By kind, in the order of their names.
inline constexpr auto kEventData = std::to_array<EventShapeField>({
#include "api/contract/event_data.inc"
});
static_assert(std::ranges::is_sorted(kEventData, {}, &EventShapeField::name));

// The shape of that name; kNoShape: there is none.
constexpr std::uint16_t find_shape(std::span<const EventShapeField> fields, std::string_view name) {
  const auto at = std::ranges::lower_bound(fields, name, {}, &EventShapeField::name);
  return at != fields.end() && at->name == name ? at->shape : kNoShape;
}
constexpr std::span<const EventShapeField> fields_of(const EventShape& shape) {
  return std::span(kEventShapeFields).subspan(shape.first_field, shape.field_count);
}

}  // namespace railweave::api
