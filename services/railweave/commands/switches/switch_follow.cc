#include "services/railweave/commands/switches/switch_follow.h"

#include <memory>

#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/commands/switches/route_follower.h"
#include "services/railweave/commands/switches/switch_tables.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

void follow(Session& session, const FollowOptions& request) {
  if (request.apply.empty() && !request.dry_run) {
    fail_usage("--apply is missing: the program that gives a switch its routes",
               "--dry-run shows what it would be given");
  }
  if (request.state.empty()) fail_usage("--state is missing: the folder of what each switch was given last");
  RouteFollower follower(session, request);
  if (request.stop) return follower.stop();
  if (request.once || request.dry_run) return follower.run_once();
  follower.run();
}

}  // namespace

void add_switch_follow_command(CLI::App& switches, Session& session) {
  auto options = std::make_shared<FollowOptions>();
  CLI::App& command = add_command(
      switches, "follow",
      "Let the routes of an Ethernet subnet follow the jobs that run, and give its switches what changes",
      {"railweave switches follow roce --names network.yaml --apply ./give-routes --state /var/lib/railweave-routes",
       "railweave switches follow roce --names network.yaml --apply ./give-routes --state routes --once",
       "railweave switches follow roce --names network.yaml --state routes --dry-run",
       "railweave switches follow roce --names network.yaml --apply ./give-routes --state routes --stop"});
  command.add_option("SUBNET", options->subnet, "Its name")->required();
  add_names_option(command, options->names);
  command
      .add_option("--apply", options->apply,
                  "Run with a switch's name, the routes that change on standard input; exit code 0: it has them")
      ->type_name("PROGRAM");
  command.add_option("--state", options->state, "Folder of what each switch was given last, to resume from")
      ->type_name("FOLDER");
  add_choice_option(command, "--to", options->to,
                    "What the program reads: commands of a Linux switch, or tables of SONiC", "routes|sonic-routes");
  add_port_step_option(command, options->port_step);
  add_number_option(command, "--every", options->every_s, "Seconds between looks at what happened", {1, 3600});
  add_number_option(command, "--apply-timeout", options->timeout_s, "Seconds until the program is ended", {1, 3600});
  auto* once = command.add_flag("--once", options->once, "End when all switches were tried; exit code 10: one failed");
  auto* dry = command.add_flag("--dry-run", options->dry_run, "Show what would be given now, and change nothing");
  command.add_flag("--stop", options->stop, "Follow jobs no more, and give the switches even routes")
      ->excludes(once)
      ->excludes(dry);
  on_run(command, session, [&session, options] { follow(session, *options); });
}

}  // namespace railweave::cli
