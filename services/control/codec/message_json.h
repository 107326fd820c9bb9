// Messages in the journal: {"code", "parts"}, where a part is words or {"job": "job-000012", "note": "..."}, {"tenant": "..."} and so
// on. A text of an older version is read as one opaque part, and written as the text that it was.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/message.h"
#include "services/json/record.h"

namespace railweave::api {

Out to_json(const Message& message);
Result<Message> message_from_json(const Json& value, const std::string& pointer);

// Forms of record.h.
struct Said {
  static void read(ObjectReader& reader, std::string_view name, Message& into);
  static Out write(const Message& message) { return to_json(message); }
};
struct SaidList {
  static void read(ObjectReader& reader, std::string_view name, std::vector<Message>& into);
  static Out write(const std::vector<Message>& messages);
};

}  // namespace railweave::api
