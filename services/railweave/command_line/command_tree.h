// The tree of commands: one function per noun adds its branch. The command line fills in options and chooses
// Session::command, which main() runs afterwards, so that nothing is done before the whole line is understood.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

void add_fabric_commands(CLI::App& root, Session& session);
void add_fabric_import_command(CLI::App& fabric, Session& session);
void add_fabric_live_commands(CLI::App& fabric, Session& session);  // discover, sync
void add_fabric_watch_command(CLI::App& fabric, Session& session);
void add_node_commands(CLI::App& root, Session& session);
void add_switch_commands(CLI::App& root, Session& session);
void add_link_commands(CLI::App& root, Session& session);
void add_route_commands(CLI::App& root, Session& session);
void add_rail_commands(CLI::App& root, Session& session);
void add_rack_commands(CLI::App& root, Session& session);
void add_subnet_commands(CLI::App& root, Session& session);
void add_alarm_command(CLI::App& root, Session& session);
void add_drains_command(CLI::App& root, Session& session);
void add_nvlink_domain_commands(CLI::App& root, Session& session);
void add_place_command(CLI::App& root, Session& session);
void add_job_commands(CLI::App& root, Session& session);
void add_job_submit_command(CLI::App& jobs, Session& session);
void add_job_repair_commands(CLI::App& jobs, Session& session);  // repair, checkpoint
void add_queue_commands(CLI::App& root, Session& session);
void add_reservation_commands(CLI::App& root, Session& session);
void add_tenant_commands(CLI::App& root, Session& session);
void add_contract_commands(CLI::App& root, Session& session);  // and classes of traffic
void add_guarantee_commands(CLI::App& root, Session& session);
void add_event_commands(CLI::App& root, Session& session);
void add_operation_commands(CLI::App& root, Session& session);
void add_status_command(CLI::App& root, Session& session);
void add_completion_commands(CLI::App& root, Session& session);
// The offline commands; their code is in services/railweave/lab, which alone knows the libraries.
void add_lab_commands(CLI::App& root, Session& session);

// A command that only has further commands: `railweave nodes`.
CLI::App& add_noun(CLI::App& parent, const std::string& name, const std::string& description, const std::string& group);
// A command that does something: `railweave nodes list`. `examples` are whole command lines.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      std::initializer_list<const char*> examples);
void on_run(CLI::App& command, Session& session, std::function<void()> run);

// -o, --server and --timeout on every command of the finished tree, and the layout of help texts.
void finish_tree(CLI::App& root, Session& session);

inline constexpr const char* kGlobalGroup = "Options of every command";

// Reads the command line into the session. The exit code to leave with at once: after --help, --version (which print),
// or a wrong command line (which says so on stderr); ExitCode::ok with session.command empty means nothing is left to
// do.
ExitCode read_command_line(CLI::App& root, Session& session, int argc, const char* const* argv);

}  // namespace railweave::cli
