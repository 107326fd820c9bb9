#include "fabric/drivers/opensm/protocol/plugin_options.h"

#include <fmt/core.h>

namespace railweave::fabric::opensm {

Result<PluginOptions> read_plugin_options(std::string_view text) {
  PluginOptions options;
  constexpr std::string_view kBlanks = " \t\r\n";
  while (true) {
    const auto start = text.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return options;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    text.remove_prefix(word.size());
    const auto equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    std::string* const option = key == "socket" ? &options.socket : key == "cache" ? &options.cache : nullptr;
    if (option == nullptr || !value.starts_with('/')) {
      return fail(ErrorKind::invalid, "opensm.pluginOptions", fmt::format("'{}' is no option of the plugin", word),
                  "event_plugin_options",
                  "options are socket=PATH and cache=FOLDER, absolute, with blanks between them");
    }
    *option = value;
  }
}

}  // namespace railweave::fabric::opensm
