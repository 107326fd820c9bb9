// railweave qos classes|set.
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {
namespace {

void print_classes(Session& session, const Json& answer) {
  Output& output = session.output;
  if (output.is_document()) return output.document(answer);
  const ListView view{{text_column("CLASS", "name"), number_column("SHARE/1000", "sharePermille"),
                       number_column("PRIORITY", "priority"), text_column("BOUND BY", "bound"),
                       text_column("LOSSLESS", "lossless"), number_column("DSCP", "dscp"), text_column("OPEN", "open")},
                      {}};
  Json items = list(answer, "items");
  for (Json& one : items) one.emplace("open", false);  // where it is left out
  output.text(table_text(view, items, output));
}

// A "version" in the file, as `qos classes -o json` prints it, makes the service refuse if the classes changed since.
void set_classes(Session& session, const std::string& path, bool force) {
  Json body = value_or_fail(read_document(path, kMaxJobFileBytes));
  if (body.is_array()) body = Json{{"items", body}};
  const Json version = field(body, "version");
  if (body.is_object()) body.erase("version");
  const std::string etag = version.is_number_unsigned() ? "\"qos-classes." + version.dump() + "\"" : std::string();
  Target target("/v1/qos-classes");
  if (force) target.filter("force", "true");
  print_classes(session, session.service().put(target, body, etag));
}

}  // namespace

void add_qos_commands(CLI::App& root, Session& session) {
  CLI::App& qos = add_noun(root, "qos", "Traffic classes and their shares of links", "Jobs");
  CLI::App& classes_command = add_command(qos, "classes", "List traffic classes",
                                          {"railweave qos classes", "railweave qos classes -o json > classes.json"});
  on_run(classes_command, session,
         [&session] { print_classes(session, session.service().get(Target("/v1/qos-classes"))); });

  auto file = std::make_shared<std::string>();
  auto force = std::make_shared<bool>(false);
  CLI::App& set_command = add_command(qos, "set", "Replace the traffic classes by those of a file",
                                      {"railweave qos set classes.json", "railweave qos set classes.json --force"});
  set_command.add_option("FILE", *file, "Classes as `railweave qos classes -o json` prints them; - for stdin")
      ->type_name("FILE")
      ->required();
  set_command.add_flag("--force", *force,
                       "Even if running jobs lose their class or lane until their ranks start again");
  on_run(set_command, session, [&session, file, force] { set_classes(session, *file, *force); });
}

}  // namespace railweave::cli
