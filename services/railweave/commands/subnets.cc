// railweave subnets list|show|mode.
#include "services/railweave/command_line/listing.h"
#include "services/railweave/views/subnet.h"

namespace railweave::cli {
namespace {

std::string live_text(const Json& subnet, const char* name) {
  const Json& live = field(subnet, "live");
  return live.is_object() ? text_of(live, name) : std::string("-");
}

ListView subnets_view() {
  return {{text_column("SUBNET", "id"),
           text_column("KIND", "kind"),
           number_column("SWITCHES", "switches"),
           number_column("HOST PORTS", "hostPorts"),
           text_column("MODE", "mode"),
           {"LIVE", subnet_phase_cell},
           {"LINKS UP", [](const Json& item) { return Cell(live_text(item, "linksUp")); }, Align::right},
           {"DOWN", [](const Json& item) { return Cell(live_text(item, "linksDown")); }, Align::right},
           {"PROBLEM", [](const Json& item) { return Cell(live_text(item, "problem")); }, Align::left, true}},
          "no subnets"};
}

void show_subnet(Session& session, const std::string& id) {
  const Json subnet = session.service().get(Target("/v1/subnets").segment(id));
  if (session.output.is_document()) return session.output.document(subnet);
  print_subnet(session.output, subnet);
}

struct ModeOptions {
  std::string id, mode, reason;
};

// If-Match holds the change to the mode that was read.
void set_mode(Session& session, const ModeOptions& options) {
  const Target target = Target("/v1/subnets").segment(options.id);
  api::ClientRequest read;
  read.target = target.text();
  const Answer present = session.service().send(std::move(read));
  api::ClientRequest write;
  write.method = api::Method::put;
  write.target = Target("/v1/subnets").segment(options.id).path("/mode").text();
  if (const auto* etag = present.headers.find("ETag")) write.headers.add("If-Match", *etag);
  write.content_type = "application/json";
  write.body =
      Json{{"mode", options.mode}, {"reason", options.reason}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  const Json answer = session.service().send(std::move(write)).body;
  if (session.output.is_document()) return session.output.document(answer);
  Sheet sheet;
  sheet.add("Subnet", text_of(answer, "subnet"));
  sheet.add("Mode", text_of(answer, "mode"));
  if (text_of(answer, "reason") != "-") sheet.add("Reason", text_of(answer, "reason"));
  session.output.text(sheet.text(session.output.terminal()));
}

}  // namespace

void add_subnet_commands(CLI::App& root, Session& session) {
  CLI::App& subnets = add_noun(root, "subnets", "Subnets: what they hold and who programs them", "Fabric");
  subnets.alias("subnet");
  auto limit = std::make_shared<std::uint64_t>(0);
  CLI::App& command = add_command(subnets, "list", "All subnets", {"railweave subnets list"});
  add_limit_option(command, *limit);
  on_run(command, session, [&session, limit] { print_list(session, Target("/v1/subnets"), subnets_view(), *limit); });

  auto id = std::make_shared<std::string>();
  CLI::App& show_command =
      add_command(subnets, "show", "One subnet: how far it is from what is wanted, its last repairs",
                  {"railweave subnets show compute"});
  show_command.add_option("SUBNET", *id, "Its name")->required();
  on_run(show_command, session, [&session, id] { show_subnet(session, *id); });

  auto options = std::make_shared<ModeOptions>();
  CLI::App& mode_command = add_command(
      subnets, "mode", "Say who programs it: nobody here, Railweave alone, or OpenSM with Railweave's engine",
      {"railweave subnets mode compute direct --reason 'handed over, change 4711'",
       "railweave subnets mode compute observe"});
  mode_command.add_option("SUBNET", options->id, "Its name")->required();
  mode_command.add_option("MODE", options->mode, "observe writes nothing")
      ->required()
      ->type_name("observe|direct|opensm")
      ->check([](const std::string& text) {
        const bool known = text == "observe" || text == "direct" || text == "opensm";
        return known ? std::string() : "'" + text + "' is none of observe|direct|opensm";
      });
  mode_command.add_option("--reason", options->reason, "For people")->type_name("TEXT");
  on_run(mode_command, session, [&session, options] { set_mode(session, *options); });
}

}  // namespace railweave::cli
