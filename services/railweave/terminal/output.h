// Where a command writes: answers to stdout in the format asked for, everything else to stderr. Not thread-safe, except
// where said.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "services/railweave/terminal/json.h"
#include "services/railweave/terminal/progress.h"
#include "services/railweave/terminal/terminal.h"

namespace railweave::cli {

enum class OutputFormat : unsigned char { table, wide, json, yaml };
inline constexpr std::string_view kOutputFormats = "table|wide|json|yaml";
std::optional<OutputFormat> parse_output_format(std::string_view text);

// stdout was closed by its reader (`railweave nodes list | head -1`): nobody wants the rest, which is no failure.
struct OutputClosed {};

class Output {
 public:
  Output(Terminal out, Terminal err) : out_(out), err_(err) {}

  OutputFormat format = OutputFormat::table;
  [[nodiscard]] bool is_document() const { return format == OutputFormat::json || format == OutputFormat::yaml; }
  [[nodiscard]] bool is_wide() const { return format == OutputFormat::wide; }
  [[nodiscard]] const Terminal& terminal() const { return out_; }

  // As it is; it must be printable, but for newlines. Buffered; throws OutputClosed, or CommandFailure where stdout
  // cannot be written.
  void text(std::string_view text);
  void document(const Json& value);       // as JSON or YAML
  void line_document(const Json& value);  // one of a stream: a line of JSON, or a YAML document of its own
  void flush();

  // A line on stderr, made printable; failures to write it are ignored.
  void note(std::string_view text);
  // Shows what is going on, on stderr, after a second and only on a terminal; until the first answer is written.
  void begin_progress(std::string what);
  void say_progress(std::string what);
  void end_progress() { progress_.reset(); }

 private:
  Terminal out_, err_;
  std::string buffer_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace railweave::cli
