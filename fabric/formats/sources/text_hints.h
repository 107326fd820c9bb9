// Texts for people of tools whose machine-readable output is read: which option to give instead.
#pragma once

#include <string_view>

namespace railweave::fabric {

// "it is squeue's table: give squeue --json" by a line of the text; "" where it is of none that is known.
std::string_view hint_of_line(std::string_view line);

}  // namespace railweave::fabric
