// Slurm's way of writing many names: "dgx-[001-032,040],login". Ranges count the digits at the end of a name, padded with
// zeros where the first one is.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::fabric {

// In the order given, as `scontrol show hostlist` writes it.
std::string compress_hostlist(std::span<const std::string> names);

// In the order written. Errors: a bracket that does not end, a range that runs backwards, more than `most` names.
inline constexpr std::size_t kMaxHostlistNames = 1'048'576;
Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t most = kMaxHostlistNames);

// Whether Slurm takes it as the name of one node or switch: letters, digits, '.', '_' and '-'.
bool is_slurm_name(std::string_view name);

}  // namespace railweave::fabric
