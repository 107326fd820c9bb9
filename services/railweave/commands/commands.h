// The commands that talk to the service: a function per noun adds its branch to the tree, implemented in the file of that
// name (add_node_commands in nodes.cc), for jobs in jobs/.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

// Below the root, called by main().
void add_fabric_commands(CLI::App& root, Session& session);
void add_node_set_command(CLI::App& nodes, Session& session);
void add_node_budgets_command(CLI::App& nodes, Session& session);
void add_node_commands(CLI::App& root, Session& session);
void add_switch_commands(CLI::App& root, Session& session);
void add_link_commands(CLI::App& root, Session& session);
void add_rail_commands(CLI::App& root, Session& session);
void add_rack_commands(CLI::App& root, Session& session);
void add_subnet_commands(CLI::App& root, Session& session);
void add_route_commands(CLI::App& root, Session& session);
void add_nvlink_domain_commands(CLI::App& root, Session& session);
void add_drains_command(CLI::App& root, Session& session);
void add_alarm_command(CLI::App& root, Session& session);
void add_place_command(CLI::App& root, Session& session);
void add_queue_commands(CLI::App& root, Session& session);
void add_reservation_commands(CLI::App& root, Session& session);
void add_tenant_commands(CLI::App& root, Session& session);
void add_token_commands(CLI::App& root, Session& session);
void add_contract_commands(CLI::App& root, Session& session);
void add_qos_commands(CLI::App& root, Session& session);
void add_guarantee_commands(CLI::App& root, Session& session);
void add_status_command(CLI::App& root, Session& session);
void add_event_commands(CLI::App& root, Session& session);
void add_webhook_commands(CLI::App& root, Session& session);
void add_audit_commands(CLI::App& root, Session& session);
void add_operation_commands(CLI::App& root, Session& session);
void add_login_commands(CLI::App& root, Session& session);  // login, logout, whoami, profiles

// Below `railweave fabric`: fabric_export.cc, fabric_live.cc (discover, sync), fabric_watch.cc.
void add_fabric_export_command(CLI::App& fabric, Session& session);
void add_fabric_live_commands(CLI::App& fabric, Session& session);
void add_fabric_watch_command(CLI::App& fabric, Session& session);

// Below `railweave guarantees`: guarantee_reroute.cc, guarantee_caps.cc (caps, partition).
void add_guarantee_reroute_command(CLI::App& guarantees, Session& session);
void add_guarantee_caps_commands(CLI::App& guarantees, Session& session);

// Below `railweave queue`: queue_policy.cc (policy, configure).
void add_queue_policy_commands(CLI::App& queue, Session& session);

}  // namespace railweave::cli
