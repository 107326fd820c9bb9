#include "services/railweave/terminal/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/printable.h"
#include "services/railweave/terminal/yaml_text.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kBufferBytes = 65536;

// Printable, apart from the newlines and tabs of a template.
std::string printable_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of("\n\t"), text.size());
    out += printable(text.substr(0, end));
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

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

Result<OutputChoice> OutputChoice::parse(std::string_view text) {
  OutputChoice choice;
  for (const auto& [name, format] : {std::pair("table", OutputFormat::table), std::pair("wide", OutputFormat::wide),
                                     std::pair("json", OutputFormat::json), std::pair("yaml", OutputFormat::yaml),
                                     std::pair("name", OutputFormat::name)}) {
    if (text != name) continue;
    choice.format = format;
    return choice;
  }
  const std::string_view kind = text.substr(0, text.find('='));
  const std::string_view given = text.substr(std::min(kind.size() + 1, text.size()));
  if (kind == "jsonpath") {
    choice.format = OutputFormat::jsonpath;
    auto fields = FieldTemplate::parse(given);
    if (!fields) return std::unexpected(fields.error());
    choice.fields = std::move(*fields);
    return choice;
  }
  if (kind == "custom-columns") {
    choice.format = OutputFormat::custom_columns;
    auto columns = FieldColumns::parse(given);
    if (!columns) return std::unexpected(columns.error());
    choice.columns = std::move(*columns);
    return choice;
  }
  return fail(ErrorKind::invalid, "cli.badOutput", fmt::format("'{}' is not one of {}", text, kOutputFormats));
}

void Output::text(std::string_view text) {
  end_progress();
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) flush();
}

std::string Output::document_text(const Json& value) const {
  switch (choice_.format) {
    case OutputFormat::yaml:
      return yaml_text(value);
    case OutputFormat::name:
      return names_text(value);
    case OutputFormat::jsonpath:
      return printable_lines(choice_.fields.fill(value));
    case OutputFormat::custom_columns:
      return choice_.columns.table(value, out_);
    default:
      return json_text(value);
  }
}

void Output::document(const Json& value) {
  if (collected_) {
    collected_->push_back(value);
  } else {
    text(document_text(value));
  }
}

void Output::end_list() {
  const Json items = std::exchange(collected_, std::nullopt).value_or(Json::array());
  if (!items.empty()) document(Json{{"items", items}});
}

void Output::line_document(const Json& value) {
  if (choice_.format == OutputFormat::json) {
    text(printable_json(compact_json(value)) + "\n");
  } else if (choice_.format == OutputFormat::yaml) {
    text("---\n" + yaml_text(value));
  } else {
    text(document_text(value));
    hide_headings();  // once, above the first
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
