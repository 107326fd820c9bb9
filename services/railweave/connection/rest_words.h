// The service's hints name REST calls, since any client may read them; people at this command line read commands.
#pragma once

#include <string>

namespace railweave::cli {

// "GET /v1/jobs lists them" becomes "railweave jobs list lists them"; what names no call stays as it is.
std::string in_commands(std::string text);

}  // namespace railweave::cli
