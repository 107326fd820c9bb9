// Small files that survive a restart: read whole, replaced in one step, readable by their owner only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::fabric::opensm {

// "" where there is no such file.
Result<std::string> read_kept_file(const std::string& path, std::size_t max_bytes);
Result<void> write_kept_file(const std::string& path, std::string_view text);

}  // namespace railweave::fabric::opensm
