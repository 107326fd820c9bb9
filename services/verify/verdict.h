// Counts faults and prints them.
#pragma once

#include <cstddef>
#include <string>

namespace railweave::verify {

// Prints the first 50 faults and counts all.
struct Verdict {
  std::size_t faults = 0;
  void fault(const std::string& text);
};

}  // namespace railweave::verify
