// An end of a link, for people. The fields are those of "ends" of GET /v1/links and of "peer" of a switch's port.
#pragma once

#include <string>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// "leaf-3", "dgx-017 mlx5_4", "dgx-017 GPU 3", "nvl-2"; without the port's number.
std::string link_end_text(const Json& end);

}  // namespace railweave::cli
