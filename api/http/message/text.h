// The few text encodings HTTP answers need: UTF-8 checks, JSON strings and percent-encoding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railweave::api {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF (RFC 3629).
bool is_utf8(std::string_view text);

// Contains a byte below 0x20, or 0x7f.
bool has_control_character(std::string_view text);

// Appends the text as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, so the result is always
// valid.
void append_json_string(std::string& out, std::string_view text);

// %XX decoded; std::nullopt for a % without two hexadecimal digits. `plus_is_space` is for query strings.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

// Everything but unreserved characters (RFC 3986, 2.3) encoded, "/" too: safe as one path segment or query value.
std::string percent_encode(std::string_view text);

}  // namespace railweave::api
