#include "services/control/decide/commands.h"

namespace railweave::control {

DecisionResult decide_command(const DecisionInput& /*in*/, const BeginTerm& command) {
  return Decision{{LeaderBegan{command.name, command.url}}, {}, false};
}

}  // namespace railweave::control
