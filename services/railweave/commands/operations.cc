// railweave operations list|show: long work, such as imports.
#include "services/railweave/command_line/listing.h"

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
           time_column("STARTED", "startedAt"),
           time_column("ENDED", "endedAt")},
          "no operations"};
}

void show_operation(Session& session, const std::string& id) {
  Output& output = session.output;
  const Json operation = session.service().get(Target("/v1/operations").segment(id));
  if (output.is_document()) return output.document(operation);
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

}  // namespace

void add_operation_commands(CLI::App& root, Session& session) {
  CLI::App& operations = add_noun(root, "operations", "Long work, such as imports", "Service");
  operations.alias("operation");
  auto limit = std::make_shared<std::uint64_t>(0);
  CLI::App& list_command = add_command(operations, "list", "The newest first", {"railweave operations list"});
  add_limit_option(list_command, *limit);
  on_run(list_command, session,
         [&session, limit] { print_list(session, Target("/v1/operations"), operations_view(), *limit); });

  auto id = std::make_shared<std::string>();
  CLI::App& show_command = add_command(operations, "show", "One operation", {"railweave operations show op-000007"});
  show_command.add_option("OPERATION", *id, "Its id")->required();
  on_run(show_command, session, [&session, id] { show_operation(session, *id); });
}

}  // namespace railweave::cli
