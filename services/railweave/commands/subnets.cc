// railweave subnets list|show|mode|spread|changes|accept|rotate-key.
#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/views/subnet.h"

namespace railweave::cli {
namespace {

std::string live_text(const Json& subnet, FieldName name) {
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
           {"HELD", [](const Json& item) { return Cell(live_text(item, "linksDamped")); }, Align::right, true},
           {"UNKNOWN", [](const Json& item) { return Cell(live_text(item, "linksUnknown")); }, Align::right},
           {"PROBLEM", [](const Json& item) { return Cell(live_text(item, "problem")); }, Align::left, true}},
          "no subnets"};
}

bool is_subnet_unseen(const Json& subnet) { return is_unseen(field(subnet, "live")); }

constexpr ResourceKind kSubnet{"/v1/subnets", "subnet", "SUBNET", "Its name", print_subnet, is_subnet_unseen};

struct ModeOptions {
  std::string id, mode, reason;
};

struct SpreadOptions {
  std::string id, spread, reason;
};

void show_setting(Session& session, const Json& answer, const char* label, FieldName name) {
  if (session.output.is_document()) return session.output.document(answer);
  Sheet sheet;
  sheet.add("Subnet", text_of(answer, "subnet"));
  sheet.add(label, text_of(answer, name));
  if (text_of(answer, "reason") != "-") sheet.add("Reason", text_of(answer, "reason"));
  session.output.text(sheet.text(session.output.terminal()));
}

// The service refuses the change if the mode was changed since it was read.
void set_mode(Session& session, const ModeOptions& options) {
  const Target subnet = Target(kSubnet.path).segment(options.id);
  const Resource present = session.service().read(subnet);
  const Json answer = session.service().put(Target(subnet).path("/mode"),
                                            Json{{"mode", options.mode}, {"reason", options.reason}}, present.etag);
  show_setting(session, answer, "Mode", "mode");
}

void set_spread(Session& session, const SpreadOptions& options) {
  const Json answer = session.service().put(Target(kSubnet.path).segment(options.id).path("/routing"),
                                            Json{{"spread", options.spread}, {"reason", options.reason}});
  show_setting(session, answer, "Spread", "spread");
}

struct RotationOptions {
  std::string id, reason;
};

void rotate_key(Session& session, const RotationOptions& options) {
  const Json answer =
      session.service().post(Target(kSubnet.path).segment(options.id).path("/key"), Json{{"reason", options.reason}});
  if (session.output.is_document()) return session.output.document(answer);
  session.output.text("Ports of subnet " + text_of(answer, "subnet") + " get management keys of generation " +
                      text_of(answer, "generation") + "; railweave subnets show " + text_of(answer, "subnet") +
                      " says how many hold them\n");
}

void add_rotation_command(CLI::App& subnets, Session& session) {
  auto options = std::make_shared<RotationOptions>();
  CLI::App& command =
      add_command(subnets, "rotate-key", "Give all ports of a subnet in direct mode new management keys",
                  {"railweave subnets rotate-key compute --reason 'a host was broken into'"});
  command.add_option("SUBNET", options->id, "Its name")->required();
  command.add_option("--reason", options->reason, "Free text, kept in the event")->type_name("TEXT");
  on_run(command, session, [&session, options] { rotate_key(session, *options); });
}

ListView changes_view() {
  return {{text_column("CHANGE", "id"),
           text_column("ABOUT", "subject"),
           {"ALIKE", [](const Json& item) { return Cell(flag_of(item, "describedAlike") ? "yes" : "no"); }},
           text_column("WHAT", "text")},
          "nothing is exchanged or moved"};
}

void show_changes(Session& session, const std::string& subnet) {
  const Json answer = session.service().get(Target(kSubnet.path).segment(subnet).path("/changes"));
  if (session.output.is_document()) return session.output.document(answer);
  const ListView view = changes_view();
  if (list(answer, "items").empty()) return session.output.note(view.none);
  session.output.text(table_text(view, list(answer, "items"), session.output));
}

struct AcceptOptions {
  std::string subnet;
  std::vector<std::string> changes;
};

void accept_changes(Session& session, const AcceptOptions& options) {
  Json body = Json::object();
  if (!options.changes.empty()) body["changes"] = options.changes;
  const Json answer = session.service().post(Target(kSubnet.path).segment(options.subnet).path("/changes"), body);
  if (session.output.is_document()) return session.output.document(answer);
  for (const Json& change : list(answer, "accepted"))
    session.output.text("accepted: " + text_of(change, "text") + "\n");
}

void add_change_commands(CLI::App& subnets, Session& session) {
  auto subnet = std::make_shared<std::string>();
  CLI::App& changes_command =
      add_command(subnets, "changes", "List devices that are exchanged and hosts that were moved, to be accepted",
                  {"railweave subnets changes compute"});
  changes_command.add_option("SUBNET", *subnet, "Its name")->required();
  on_run(changes_command, session, [&session, subnet] { show_changes(session, *subnet); });

  auto accept = std::make_shared<AcceptOptions>();
  CLI::App& accept_command = add_command(
      subnets, "accept", "Accept what is exchanged or moved; jobs, drains and costs follow",
      {"railweave subnets accept compute", "railweave subnets accept compute exchangedAdapter:0002c90300008050"});
  accept_command.add_option("SUBNET", accept->subnet, "Its name")->required();
  accept_command.add_option("CHANGE", accept->changes,
                            "Changes as `railweave subnets changes` lists them; default: all");
  on_run(accept_command, session, [&session, accept] { accept_changes(session, *accept); });
}

}  // namespace

void add_subnet_commands(CLI::App& root, Session& session) {
  CLI::App& subnets = add_noun(root, "subnets", "Subnets: their switches and ports, and who programs them", "Fabric");
  subnets.alias("subnet");
  add_list_command(subnets, session, "List subnets", {"railweave subnets list"}, {"/v1/subnets", subnets_view()});
  add_show_command(
      subnets, session, kSubnet,
      "Show a subnet: how applied tables differ from wanted ones, last repairs; exit code 10 while it is not seen",
      {"railweave subnets show compute"});

  add_change_commands(subnets, session);
  add_rotation_command(subnets, session);

  auto options = std::make_shared<ModeOptions>();
  CLI::App& mode_command = add_command(
      subnets, "mode", "Choose who programs a subnet: observe (not Railweave), direct (Railweave alone) or opensm",
      {"railweave subnets mode compute direct --reason 'handed over, change 4711'",
       "railweave subnets mode compute observe"});
  mode_command.add_option("SUBNET", options->id, "Its name")->required();
  add_choice_option(mode_command, "MODE", options->mode,
                    "observe: Railweave writes nothing; direct: Railweave is the subnet manager; opensm: OpenSM is, "
                    "with Railweave's engine",
                    "observe|direct|opensm")
      ->required();
  mode_command.add_option("--reason", options->reason, "Free text, kept with the mode")->type_name("TEXT");
  on_run(mode_command, session, [&session, options] { set_mode(session, *options); });

  auto spread = std::make_shared<SpreadOptions>();
  CLI::App& spread_command =
      add_command(subnets, "spread", "Say over how many paths a subnet's packets go, which guarantees count by",
                  {"railweave subnets spread compute adaptive --reason 'AR is enabled on all switches'",
                   "railweave subnets spread compute single"});
  spread_command.add_option("SUBNET", spread->id, "Its name")->required();
  add_choice_option(
      spread_command, "SPREAD", spread->spread,
      "single: one path for each pair; lmc: senders use all LIDs of an end port evenly; adaptive: switches use "
      "all shortest paths",
      "single|lmc|adaptive")
      ->required();
  spread_command.add_option("--reason", spread->reason, "Free text, kept with it")->type_name("TEXT");
  on_run(spread_command, session, [&session, spread] { set_spread(session, *spread); });
}

}  // namespace railweave::cli
