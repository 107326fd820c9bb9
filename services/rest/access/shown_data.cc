#include "services/rest/access/shown_data.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "api/contract/event_shape.h"
#include "services/control/codec/message_json.h"
#include "services/json/strict_json.h"

namespace railweave::api {
namespace {

bool is_message(const Out& value) {
  return value.is_object() && value.contains("parts") && value.size() == 1 + value.count("code");
}

class Showing {
 public:
  Showing(const MessageReader& reader, bool is_older) : reader_(reader), is_older_(is_older) {}

  // None: the contract describes nothing of that form there. name: of the field that it is.
  [[nodiscard]] std::optional<Out> value(const Out& value, std::uint16_t number, std::string_view name) const {
    const EventShape& shape = kEventShapes[number];
    if (value.is_null()) return value;
    if (shape.is_single && is_message(value)) {
      return message_from_json(Json(value), "").value_or(Message()).text(reader_);
    }
    if (value.is_object()) return object(value, shape);
    if (value.is_array()) return list(value, shape, name);
    if (!shape.is_single) return std::nullopt;
    if (is_older_ && value.is_string() && std::ranges::find(kTexts, name) != kTexts.end()) {
      return Message::opaque(value.get<std::string>()).text(reader_);
    }
    return value;
  }

 private:
  static constexpr std::array<std::string_view, 3> kTexts{"reason", "text", "damage"};

  [[nodiscard]] std::optional<Out> object(const Out& value, const EventShape& shape) const {
    if (shape.field_count == 0 && shape.values == kNoShape) return std::nullopt;
    Out shown = Out::object();
    for (const auto& [name, member] : value.items()) {
      const std::uint16_t field = find_shape(fields_of(shape), name);
      const std::uint16_t inner = field == kNoShape ? shape.values : field;
      if (inner == kNoShape) continue;
      if (auto one = this->value(member, inner, name)) shown[name] = std::move(*one);
    }
    return shown;
  }

  [[nodiscard]] std::optional<Out> list(const Out& value, const EventShape& shape, std::string_view name) const {
    if (shape.items == kNoShape) return std::nullopt;
    Out shown = Out::array();
    for (const auto& item : value) {
      if (auto one = this->value(item, shape.items, name)) shown.push_back(std::move(*one));
    }
    return shown;
  }

  const MessageReader& reader_;
  bool is_older_;
};

}  // namespace

Out shown_data(std::string_view kind, const Out& data, const MessageReader& reader, bool is_older) {
  const std::uint16_t shape = find_shape(kEventData, kind);
  std::optional<Out> shown;
  if (shape != kNoShape && data.is_object()) shown = Showing(reader, is_older).value(data, shape, "");
  return shown.value_or(Out::object());
}

}  // namespace railweave::api
