#include "services/json/message_value.h"

#include <string>
#include <utility>
#include <variant>

namespace railweave::api {
namespace {

struct WholePart {
  Out operator()(const std::string& words) const { return words; }
  Out operator()(const JobPart& part) const {
    Out value{{"job", job_name(part.number)}};
    if (!part.note.empty()) value["note"] = part.note;
    return value;
  }
  template <Named kind>
  Out operator()(const NamedPart<kind>& part) const {
    return Out{{std::string(to_text(kind)), part.name}};
  }
  Out operator()(const AmountPart& part) const { return Out{{"amount", part.value}, {"unit", part.unit}}; }
  Out operator()(const OpaquePart& part) const { return Out{{"opaque", part.text}}; }
};

}  // namespace

Out part_value(const MessagePart& part, const MessageReader& reader) {
  Out value = std::visit(WholePart{}, part);
  if (reader.sees(part)) return value;
  return Out{{value.begin().key(), nullptr}};  // what it is of is its first member
}

Out message_value(const Message& message, const MessageReader& reader, std::string_view code) {
  Out parts = Out::array();
  for (const auto& part : message.parts()) parts.push_back(part_value(part, reader));
  const std::string_view named = message.code().empty() ? code : std::string_view(message.code());
  return {{"code", named.empty() ? Out(nullptr) : Out(named)}, {"parts", std::move(parts)}};
}

}  // namespace railweave::api
