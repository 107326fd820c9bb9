// The commands below `railweave lab`, each implemented in the file of its name (add_lab_place_command in lab_place.cc).
#pragma once

#include "services/railweave/command_line/command_tree.h"

namespace railweave::cli {

void add_lab_fabric_command(CLI::App& lab, Session& session);
void add_lab_place_command(CLI::App& lab, Session& session);
void add_lab_route_command(CLI::App& lab, Session& session);
void add_lab_flows_command(CLI::App& lab, Session& session);
void add_lab_qos_command(CLI::App& lab, Session& session);
void add_lab_replay_command(CLI::App& lab, Session& session);
void add_lab_generate_commands(CLI::App& lab, Session& session);
void add_lab_plan_command(CLI::App& lab, Session& session);
void add_lab_convert_command(CLI::App& lab, Session& session);

}  // namespace railweave::cli
