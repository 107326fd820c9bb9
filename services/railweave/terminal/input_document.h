// Documents that the user names: JSON or YAML, told apart by how they begin.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// YAML 1.2's core schema: only true, false, null, ~ and numbers are no text ("no" and "on" are). At most kMaxJsonDepth
// levels deep and a million values after anchors are resolved; a field given twice is refused.
Result<Json> parse_yaml(std::string_view text, std::string_view source = {});

// JSON where it begins with { or [, else YAML.
Result<Json> parse_document(std::string_view text, std::string_view source = {});

// Of a file; "-" is stdin.
Result<Json> read_document(const std::string& path, std::size_t limit_bytes);

// A fabric's file as text for its readers: one named *.yaml or *.yml as JSON, any other unchanged.
Result<std::string> read_fabric_text(const std::string& path, std::size_t limit_bytes);

}  // namespace railweave::cli
