// What is on the other side of stdout or stderr.
#pragma once

#include <cstddef>

namespace railweave::cli {

struct Terminal {
  bool is_terminal = false;
  bool color = false;  // a terminal that takes colours, and nobody said NO_COLOR (https://no-color.org) or TERM=dumb
  std::size_t columns = 0;  // 0: not a terminal, nothing is cut

  static Terminal of(int descriptor);
};

}  // namespace railweave::cli
