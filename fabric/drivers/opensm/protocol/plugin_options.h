// The plugin's options in OpenSM's event_plugin_options: "socket=/run/railweave/opensm.sock cache=/var/cache".
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::fabric::opensm {

struct PluginOptions {
  std::string socket;  // railweaved's; empty: routes by no policy
  std::string cache;   // folder that exists; empty: nothing is kept across restarts
};

// Words with blanks between them, in any order; paths are absolute.
Result<PluginOptions> read_plugin_options(std::string_view text);

}  // namespace railweave::fabric::opensm
