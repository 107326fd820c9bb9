#include "services/railweave/lab/lab.h"

#include "services/railweave/lab/lab_commands.h"

namespace railweave::cli {

void add_lab_commands(CLI::App& root, Session& session) {
  CLI::App& lab = add_noun(root, "lab", "Offline on files, without a service: try changes on your fabric", "Offline");
  add_lab_fabric_command(lab, session);
  add_lab_place_command(lab, session);
  add_lab_route_command(lab, session);
  add_lab_flows_command(lab, session);
  add_lab_qos_command(lab, session);
  add_lab_replay_command(lab, session);
  add_lab_plan_command(lab, session);
  add_lab_generate_commands(lab, session);
  add_lab_convert_command(lab, session);
}

}  // namespace railweave::cli
