// What stdout or stderr is connected to.
#pragma once

#include <cstddef>

namespace railweave::cli {

struct Terminal {
  bool is_terminal = false;
  bool color = false;       // a terminal, and neither NO_COLOR (https://no-color.org) nor TERM=dumb is set
  std::size_t columns = 0;  // 0: not a terminal; lines are not cut
  bool headings = true;     // whether tables have theirs

  static Terminal of(int descriptor);
};

}  // namespace railweave::cli
