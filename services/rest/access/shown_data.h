// The data of an event as one reader is shown it: what the contract describes of its kind, with messages as texts. Pure.
#pragma once

#include <string_view>

#include "fabric/base/message.h"
#include "services/json/json_out.h"

namespace railweave::api {

// is_older: of a version that wrote finished texts in the place of messages, which are for those who see all.
Out shown_data(std::string_view kind, const Out& data, const MessageReader& reader, bool is_older);

}  // namespace railweave::api
