// Writing JSON for clients and the journal: fields in the order they are set, text that is not UTF-8 replaced rather
// than refused.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace railweave::api {

using Out = nlohmann::ordered_json;

inline std::string dump(const Out& value) { return value.dump(-1, ' ', false, Out::error_handler_t::replace); }

}  // namespace railweave::api
