// A row or part of a source that a reader could not use, to be named to who gave the source.
#pragma once

#include <string>
#include <vector>

namespace railweave::fabric {

struct RowLeftOut {
  std::string where, why;
};
using RowsLeftOut = std::vector<RowLeftOut>;

}  // namespace railweave::fabric
