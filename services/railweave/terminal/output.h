// Output of a command: answers go to stdout in the format chosen by -o, notes and progress to stderr. Not thread-safe.
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

// Thrown when the reader of stdout has closed it (`railweave nodes list | head -1`); not a failure.
struct OutputClosed {};

// Writes all of the text; 0 or an errno.
int write_all(int descriptor, std::string_view text);

class Output {
 public:
  Output(Terminal out, Terminal err) : out_(out), err_(err) {}

  OutputFormat format = OutputFormat::table;
  [[nodiscard]] bool is_document() const { return format == OutputFormat::json || format == OutputFormat::yaml; }
  [[nodiscard]] bool is_wide() const { return format == OutputFormat::wide; }
  [[nodiscard]] const Terminal& terminal() const { return out_; }

  // Writes the text unchanged: it must be printable, apart from newlines. Buffered; throws OutputClosed, or
  // CommandFailure where stdout cannot be written.
  void text(std::string_view text);
  void document(const Json& value);       // as JSON or YAML
  void line_document(const Json& value);  // one of a stream: a line of JSON, or a YAML document of its own
  void flush();

  // A line on stderr, made printable; failures to write it are ignored.
  void note(std::string_view text);
  // Shows progress on stderr, on a terminal only, from one second on until the first answer is written.
  void begin_progress(std::string what);
  void say_progress(std::string what);
  void end_progress() { progress_.reset(); }

 private:
  Terminal out_, err_;
  std::string buffer_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace railweave::cli
