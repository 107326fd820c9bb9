// Files that the user names, read whole and bounded.
#pragma once

#include <cstddef>
#include <string>

#include "fabric/base/error.h"

namespace railweave::cli {

inline constexpr std::size_t kMaxFabricFileBytes = std::size_t{256} << 20U;  // what the service takes as well
inline constexpr std::size_t kMaxJobFileBytes = std::size_t{1} << 20U;

// "-" is stdin. Errors (kind notFound, invalid or tooLarge) have the path as their location; a directory is one.
Result<std::string> read_input(const std::string& path, std::size_t limit_bytes);

// The path as messages and the service show it: "stdin" for "-".
std::string source_name(const std::string& path);

}  // namespace railweave::cli
