// JSON of the service and of files, fields in their original order. Fields of answers are read without trusting them: one
// that is missing or of another type reads as "-", 0 or an empty list. Their names are those of the contract, which the
// compiler checks (api/contract/field_name.h); those of other tools' files are foreign("job_id").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/contract/field_name.h"
#include "fabric/base/error.h"

namespace railweave::cli {

using Json = nlohmann::ordered_json;
using api::FieldName;
using api::foreign;

// At most kMaxJsonDepth levels deep. The error's location is "line L, column C", after `source` where there is one.
inline constexpr int kMaxJsonDepth = 64;
Result<Json> parse_json(std::string_view text, std::string_view source = {});

// Indented, ready to print (printable.h); ends with a newline.
std::string json_text(const Json& value);
// On one line, as sent to the service. Bytes that are not UTF-8 are replaced.
std::string compact_json(const Json& value);

const Json& field(const Json& object, FieldName name);  // null where there is none
const Json& list(const Json& object, FieldName name);   // an empty array where there is none
// A string as it is, a number in digits, true and false as "yes" and "no"; "-" for null, missing and anything else.
std::string text_of(const Json& value);
std::string text_of(const Json& object, FieldName name);
// A time of the contract without its fraction: "2026-11-21T09:00:00Z".
std::string time_of(const Json& object, FieldName name);
std::uint64_t count_of(const Json& object, FieldName name);  // an unsigned integer, else 0
bool flag_of(const Json& object, FieldName name);
// A share of 1 in percent, rounded to one decimal: "87.5 %"; "-" where there is none.
std::string percent_of(const Json& object, FieldName name);
// Strings of a list joined by ", ", at most `most` of them ("a, b +3").
std::string joined(const Json& strings, std::size_t most = SIZE_MAX);

}  // namespace railweave::cli
