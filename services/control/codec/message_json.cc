#include "services/control/codec/message_json.h"

#include <utility>

#include <fmt/core.h>

#include "services/json/message_value.h"

namespace railweave::api {
namespace {

template <class Part>
MessagePart text_part(ObjectReader& reader, std::string_view name) {
  std::string text;
  reader.read(name, text);
  return Part{std::move(text)};
}

MessagePart read_named(ObjectReader& reader) {
  if (reader.has("tenant")) return text_part<TenantPart>(reader, "tenant");
  if (reader.has("reservation")) return text_part<ReservationPart>(reader, "reservation");
  if (reader.has("node")) return text_part<NodePart>(reader, "node");
  if (reader.has("link")) return text_part<LinkPart>(reader, "link");
  return text_part<OpaquePart>(reader, "opaque");
}

Result<MessagePart> read_part(const Json& value, const std::string& pointer) {
  if (value.is_string()) return value.get<std::string>();
  ObjectReader reader(value, pointer);
  MessagePart part;
  if (reader.has("job")) {
    std::string name, note;
    reader.read("job", name);
    reader.read("note", note);
    part = job_part(name, std::move(note));
  } else if (reader.has("amount")) {
    AmountPart amount;
    std::uint64_t count = 0;
    reader.read("amount", count);
    reader.read("unit", amount.unit);
    amount.value = static_cast<std::int64_t>(count);
    part = std::move(amount);
  } else {
    part = read_named(reader);
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return part;
}

}  // namespace

Out to_json(const Message& message) {
  if (message.empty()) return "";
  if (message.is_opaque() && message.code().empty()) return std::get<OpaquePart>(message.parts().front()).text;
  Out parts = Out::array();
  for (const auto& part : message.parts()) parts.push_back(part_value(part, MessageReader::all()));
  Out value;
  if (!message.code().empty()) value["code"] = message.code();
  value["parts"] = std::move(parts);
  return value;
}

Result<Message> message_from_json(const Json& value, const std::string& pointer) {
  if (value.is_string()) return Message::opaque(value.get<std::string>());
  ObjectReader reader(value, pointer);
  std::string code;
  reader.read("code", code);
  const Json* parts = reader.take("parts");
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (parts == nullptr || !parts->is_array()) {
    return fail(ErrorKind::malformed, "body.invalidField", "a message has a list of parts", pointer + "/parts");
  }
  Message message(code, {});
  for (std::size_t i = 0; i < parts->size(); ++i) {
    auto part = read_part((*parts)[i], fmt::format("{}/parts/{}", pointer, i));
    if (!part) return std::unexpected(part.error());
    message += std::move(*part);
  }
  return message;
}

void Said::read(ObjectReader& reader, std::string_view name, Message& into) {
  const Json* value = reader.take(name);
  if (value == nullptr) return;
  auto message = message_from_json(*value, reader.pointer(name));
  if (!message) return reader.set_error(std::move(message.error()));
  into = std::move(*message);
}

void SaidList::read(ObjectReader& reader, std::string_view name, std::vector<Message>& into) {
  const Json* list = reader.take(name);
  if (list == nullptr || !list->is_array()) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto message = message_from_json((*list)[i], fmt::format("{}/{}", reader.pointer(name), i));
    if (!message) return reader.set_error(std::move(message.error()));
    into.push_back(std::move(*message));
  }
}

Out SaidList::write(const std::vector<Message>& messages) {
  Out list = Out::array();
  for (const auto& message : messages) list.push_back(to_json(message));
  return list;
}

}  // namespace railweave::api
