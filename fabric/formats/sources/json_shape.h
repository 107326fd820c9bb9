// Which tool a JSON document is of, by its fields and those of the first element of its lists. Part of recognise().
#pragma once

#include <string_view>

#include "fabric/formats/sources/source_kind.h"

namespace railweave::fabric {

// Also of a document that is cut off, by what is there. O(bytes).
Recognised recognise_json(std::string_view text);

}  // namespace railweave::fabric
