// A message as a JSON value for one reader: {"code", "parts"}; what it may not see is null there.
#pragma once

#include "fabric/base/message.h"
#include "services/json/json_out.h"

namespace railweave::api {

// Words, or {"job": "job-000012", "note": "..."}, {"tenant": "..."} and so on.
Out part_value(const MessagePart& part, const MessageReader& reader);

// code: where the message has none; "": null.
Out message_value(const Message& message, const MessageReader& reader, std::string_view code = {});

}  // namespace railweave::api
