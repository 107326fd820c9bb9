// Which text every store can keep and return unchanged. Used by the rules of every store.
#pragma once

#include <string_view>

namespace railweave::db {

// Well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF) without NUL, which PostgreSQL
// cannot store in text.
bool is_storable_text(std::string_view text);

}  // namespace railweave::db
