// Names as people count them: node-2 before node-10.
#pragma once

#include <string_view>

namespace railweave {

// < 0, 0, > 0. Runs of digits compare by value, everything else by byte; ties broken by bytes, so it is a total order.
int natural_compare(std::string_view a, std::string_view b);

struct NaturalLess {
  bool operator()(std::string_view a, std::string_view b) const { return natural_compare(a, b) < 0; }
};

}  // namespace railweave
