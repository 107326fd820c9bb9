// JSON values as YAML for people: block style, strings quoted only where YAML would read them as another type.
#pragma once

#include <string>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

std::string yaml_text(const Json& value);  // ready to print; ends with a newline

}  // namespace railweave::cli
