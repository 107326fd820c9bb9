// The service's hints name REST calls, since any client may read them; people at this command line read commands.
#pragma once

#include <string>

namespace railweave::cli {

// "GET /v1/jobs lists them" becomes "railweave jobs list lists them"; what names no call stays as it is.
std::string in_commands(std::string text);

// The option that sets a field of a request, where one does: "--tp" for "/parallelism/tensor"; else the pointer.
std::string in_options(const std::string& pointer);

}  // namespace railweave::cli
