#include "services/railweave/terminal/output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

[[noreturn]] void fail_write(const std::string& path, int error) {
  throw CommandFailure(
      {ErrorKind::invalid, "cli.cannotWriteFile", std::string("cannot be written: ") + std::strerror(error), path, {}});
}

}  // namespace

void add_output_file_option(CLI::App& command, std::string& path) {
  command.add_option("-O,--output-file", path, "Write to this file instead of stdout")->type_name("FILE");
}

void write_file_or_stdout(Output& output, const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") {
    output.text(output.terminal().is_terminal ? printable_json(std::string(text)) : std::string(text));
    if (!text.ends_with('\n')) output.text("\n");
    return;
  }
  write_file(path, text);
}

void write_file(const std::string& path, std::string_view text, unsigned mode) {
  struct stat present{};
  const bool exists = stat(path.c_str(), &present) == 0;
  if (exists && S_ISDIR(present.st_mode)) fail_write(path, EISDIR);
  const bool in_place = exists && !S_ISREG(present.st_mode);  // a device or a pipe is written to, never replaced
  const std::string temporary = in_place ? path : fmt::format("{}.partial-{}", path, getpid());
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (in_place ? 0 : O_TRUNC);
  const int descriptor = open(temporary.c_str(), flags, mode);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  if (descriptor < 0) fail_write(path, errno);
  int error = write_all(descriptor, text);
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && !in_place && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    if (!in_place) unlink(temporary.c_str());
    fail_write(path, error);
  }
}

}  // namespace railweave::cli
