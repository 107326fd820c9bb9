// Output of a command: answers go to stdout in the format chosen by -o, notes and progress to stderr. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "services/railweave/terminal/field_columns.h"
#include "services/railweave/terminal/field_path.h"
#include "services/railweave/terminal/json.h"
#include "services/railweave/terminal/progress.h"
#include "services/railweave/terminal/terminal.h"

namespace railweave::cli {

enum class OutputFormat : unsigned char { table, wide, json, yaml, name, jsonpath, custom_columns };
inline constexpr std::string_view kOutputFormats =
    "table|wide|json|yaml|name|jsonpath=PATH|custom-columns=TITLE:PATH,...";

// What -o chooses.
struct OutputChoice {
  OutputFormat format = OutputFormat::table;
  FieldTemplate fields;  // of jsonpath
  FieldColumns columns;  // of custom_columns

  static Result<OutputChoice> parse(std::string_view text);
};

// Thrown when the reader of stdout has closed it (`railweave nodes list | head -1`); not a failure.
struct OutputClosed {};

// Writes all of the text; 0 or an errno.
int write_all(int descriptor, std::string_view text);

class Output {
 public:
  Output(Terminal out, Terminal err) : out_(out), err_(err) {}

  void choose(OutputChoice choice) { choice_ = std::move(choice); }
  void hide_headings() { out_.headings = false; }
  // Whether document() is to be printed, not a table or a sheet.
  [[nodiscard]] bool is_document() const {
    return choice_.format != OutputFormat::table && choice_.format != OutputFormat::wide;
  }
  [[nodiscard]] bool is_wide() const { return choice_.format == OutputFormat::wide; }
  [[nodiscard]] const Terminal& terminal() const { return out_; }

  // Writes the text unchanged: it must be printable, apart from newlines. Buffered; throws OutputClosed, or
  // CommandFailure where stdout cannot be written.
  void text(std::string_view text);
  void document(const Json& value);       // as JSON or YAML, or the names or fields that -o chooses
  void line_document(const Json& value);  // one of a stream: a line of JSON, or a YAML document of its own
  // Documents between the two are printed as one list, where there are several names in one command.
  void begin_list() { collected_ = Json::array(); }
  void end_list();
  void flush();

  // A line on stderr, made printable; failures to write it are ignored.
  void note(std::string_view text);
  // Shows progress on stderr, on a terminal only, from one second on until the first answer is written.
  void begin_progress(std::string what);
  void say_progress(std::string what);
  void end_progress() { progress_.reset(); }

 private:
  [[nodiscard]] std::string document_text(const Json& value) const;

  Terminal out_, err_;
  OutputChoice choice_;
  std::optional<Json> collected_;
  std::string buffer_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace railweave::cli
