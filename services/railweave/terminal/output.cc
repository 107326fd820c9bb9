#include "services/railweave/terminal/output.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/printable.h"
#include "services/railweave/terminal/yaml_text.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kBufferBytes = 65536;

}  // namespace

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

std::optional<OutputFormat> parse_output_format(std::string_view text) {
  if (text == "table") return OutputFormat::table;
  if (text == "wide") return OutputFormat::wide;
  if (text == "json") return OutputFormat::json;
  if (text == "yaml") return OutputFormat::yaml;
  return std::nullopt;
}

void Output::text(std::string_view text) {
  end_progress();
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) flush();
}

void Output::document(const Json& value) { text(format == OutputFormat::yaml ? yaml_text(value) : json_text(value)); }

void Output::line_document(const Json& value) {
  if (format == OutputFormat::yaml) {
    text("---\n" + yaml_text(value));
  } else {
    text(printable_json(compact_json(value)) + "\n");
  }
}

void Output::flush() {
  const std::string pending = std::exchange(buffer_, {});
  const int error = write_all(STDOUT_FILENO, pending);
  if (error == 0) return;
  if (error == EPIPE) throw OutputClosed{};
  throw CommandFailure(
      ExitCode::internal,
      {ErrorKind::internal, "cli.cannotWrite", std::string("cannot write to stdout: ") + std::strerror(error), {}, {}});
}

void Output::note(std::string_view text) {
  end_progress();
  (void)write_all(STDERR_FILENO, printable(text) + "\n");
}

void Output::begin_progress(std::string what) {
  if (err_.is_terminal) progress_ = std::make_unique<Progress>(std::move(what), err_.columns);
}

void Output::say_progress(std::string what) {
  if (progress_) progress_->say(std::move(what));
}

}  // namespace railweave::cli
