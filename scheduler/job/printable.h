// Which text may be shown on a terminal or in a log as it came from outside.
#pragma once

#include <string_view>

namespace railweave::scheduler {

// Well-formed UTF-8 (RFC 3629: shortest form, no surrogates) without control characters (C0, DEL, C1), line and
// paragraph separators, bidirectional controls (which can make text read as something else) and noncharacters. Empty
// text is.
bool is_printable_utf8(std::string_view text);

}  // namespace railweave::scheduler
