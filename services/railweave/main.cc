// railweave: the command line of Railweave. Commands use the service's REST contract only, except `railweave lab`, which
// works offline on files, `railweave admin`, which works on stores, and `railweave guarantees collect`, which asks the subnet. Exit codes: terminal/exit_code.h; how to add a command: ADDING_A_COMMAND.md.
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include <unistd.h>

#include "services/railweave/admin/admin.h"
#include "services/railweave/assess/assess.h"
#include "services/railweave/collect/collect.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/completion.h"
#include "services/railweave/command_line/help_command.h"
#include "services/railweave/command_line/help_text.h"
#include "services/railweave/command_line/man_page.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/commands/jobs/job_commands.h"
#include "services/railweave/lab/lab.h"
#include "services/railweave/support/support_bundle.h"
#include "services/railweave/terminal/command_failure.h"

namespace {

using namespace railweave;
using namespace railweave::cli;

void build_tree(CLI::App& root, Session& session) {
  root.formatter(std::make_shared<HelpText>());
  root.set_help_flag("-h,--help", "Print this help");
  root.set_version_flag("--version", "railweave " RAILWEAVE_VERSION, "Print the version");
  root.footer(root_footer());
  add_fabric_commands(root, session);
  add_node_commands(root, session);
  add_switch_commands(root, session);
  add_link_commands(root, session);
  add_rail_commands(root, session);
  add_rack_commands(root, session);
  add_subnet_commands(root, session);
  add_route_commands(root, session);
  add_nvlink_domain_commands(root, session);
  add_drains_command(root, session);
  add_alarm_command(root, session);
  add_place_command(root, session);
  add_job_commands(root, session);
  add_queue_commands(root, session);
  add_reservation_commands(root, session);
  add_tenant_commands(root, session);
  add_token_commands(root, session);
  add_contract_commands(root, session);
  add_qos_commands(root, session);
  add_guarantee_commands(root, session);
  add_collect_command(*root.get_subcommand("guarantees"), session);
  add_status_command(root, session);
  add_event_commands(root, session);
  add_webhook_commands(root, session);
  add_audit_commands(root, session);
  add_operation_commands(root, session);
  add_support_bundle_command(root, session);
  add_login_commands(root, session);
  add_completion_commands(root, session);
  add_man_command(root, session);
  add_help_commands(root, session);
  add_admin_commands(root, session);
  add_assess_command(root, session);
  add_lab_commands(root, session);
  finish_tree(root, session);
}

int number_of(ExitCode code) { return static_cast<int>(code); }

int run(Session& session, int argc, const char* const* argv) {
  try {
    CLI::App root("Fabric manager and job-aware scheduler for AI clusters", "railweave");
    build_tree(root, session);
    if (argc > 1 && std::string_view(argv[1]) == "__complete") {
      const std::vector<std::string> words(argv + 2, argv + argc);
      session.output.text(completion_text(complete(root, words, names_of_service(session, words))));
    } else {
      const ExitCode read = read_command_line(root, session, argc, argv);
      if (read != ExitCode::ok) return number_of(read);
      if (session.command) {
        session.output.begin_progress("working");
        session.command();
      }
    }
    session.output.end_progress();
    session.output.flush();
    session.note_changed_service();
    return number_of(session.exit_code);
  } catch (const CommandFailure& failure) {
    try {
      session.output.flush();  // what was written before the failure
    } catch (...) {            // NOLINT(bugprone-empty-catch): the first failure is reported
    }
    session.output.note("railweave: " + failure.error().text());
    return number_of(failure.code());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe shows as EPIPE
  Session session(Terminal::of(STDOUT_FILENO), Terminal::of(STDERR_FILENO));
  try {
    return run(session, argc, argv);
  } catch (const OutputClosed&) {
    return number_of(session.exit_code);
  } catch (const std::bad_alloc&) {
    session.output.note("railweave: out of memory");
  } catch (const std::exception& error) {
    session.output.note(std::string("railweave: internal error: ") + error.what());
  }
  return number_of(ExitCode::internal);
}
