// railweave operations list|show.
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"

namespace railweave::cli {
namespace {

Cell operation_state_cell(const Json& operation) {
  const std::string state = text_of(operation, "state");
  if (state == "succeeded") return {state, Tone::good};
  return {state, state == "failed" ? Tone::bad : Tone::plain};
}

std::string progress_text(const Json& operation) {
  const Json& progress = field(operation, "progress");
  return text_of(progress, "done") + " of " + text_of(progress, "total") + " " + text_of(progress, "unit");
}

ListView operations_view() {
  return {{text_column("OPERATION", "id"),
           text_column("KIND", "kind"),
           {"STATE", operation_state_cell},
           {"PROGRESS", [](const Json& operation) { return Cell(progress_text(operation)); }},
           spare_time_column("STARTED", "startedAt"),
           age_column("startedAt"),
           time_column("ENDED", "endedAt")},
          "no operations"};
}

void print_operation(Output& output, const Json& operation) {
  Sheet sheet;
  sheet.add("Operation", text_of(operation, "id"));
  sheet.add("Kind", text_of(operation, "kind"));
  sheet.add("State", operation_state_cell(operation));
  sheet.add("Progress", progress_text(operation));
  sheet.add("Started", text_of(operation, "startedAt"));
  sheet.add("Ended", text_of(operation, "endedAt"));
  if (const Json& error = field(operation, "error"); error.is_object()) {
    sheet.add("Error", {text_of(error, "detail"), Tone::bad});
  }
  output.text(sheet.text(output.terminal()));
}

constexpr ResourceKind kOperation{"/v1/operations", "operation", "OPERATION", "Its id", print_operation};

}  // namespace

void add_operation_commands(CLI::App& root, Session& session) {
  CLI::App& operations = add_noun(root, "operations", "Long operations, such as imports", "Service");
  operations.alias("operation");
  add_list_command(operations, session, "List operations, newest first", {"railweave operations list"},
                   {"/v1/operations", operations_view()});
  add_show_command(operations, session, kOperation, "Show an operation", {"railweave operations show op-000007"});
}

}  // namespace railweave::cli
