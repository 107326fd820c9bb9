#include "services/railweave/terminal/terminal.h"

#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace railweave::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here changes the environment
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

Terminal Terminal::of(int descriptor) {
  constexpr std::size_t kUsualColumns = 80;
  constexpr std::size_t kLeastColumns = 20;
  Terminal terminal;
  terminal.is_terminal = isatty(descriptor) == 1;
  if (!terminal.is_terminal) return terminal;
  terminal.color = environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  terminal.columns = known ? size.ws_col : kUsualColumns;
  if (terminal.columns < kLeastColumns) terminal.columns = kLeastColumns;
  return terminal;
}

}  // namespace railweave::cli
