// Reads a file that the user names into memory, up to a limit.
#pragma once

#include <cstddef>
#include <string>

#include "fabric/base/error.h"

namespace railweave::cli {

inline constexpr std::size_t kMaxFabricFileBytes = std::size_t{256} << 20U;  // the service's own limit
inline constexpr std::size_t kMaxJobFileBytes = std::size_t{1} << 20U;

// "-" is stdin. Errors (kind notFound, invalid or tooLarge) have the path as their location; a directory is an error.
Result<std::string> read_input(const std::string& path, std::size_t limit_bytes);

// The path as shown in messages and sent to the service: "stdin" for "-".
std::string source_name(const std::string& path);

}  // namespace railweave::cli
