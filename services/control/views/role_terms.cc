#include "services/control/views/role_terms.h"

#include <string>
#include <utility>

#include "services/control/views/role_receivers.h"

namespace railweave::control {

Result<void> check_between_roles(const scheduler::JobSpec& spec, const scheduler::Contract* terms) {
  if (between_roles_mbps(spec) <= 0) return {};
  const auto refuse = [](std::string why) {
    return fail(ErrorKind::impossible, "admission.betweenRoles", std::move(why), "/bandwidth/betweenRolesGbpsPerPort",
                "leave it out: nothing is then promised between roles");
  };
  if (terms == nullptr) return refuse("what other roles are sent is a part of a guarantee, and the job has none");
  if (terms->promise == fabric::TrafficPromise::pattern) {
    return refuse("a pattern promises the flows among the ranks of one job; what other roles are sent takes a hose");
  }
  if (terms->isolation == scheduler::Isolation::within_class) {
    return refuse("agents on nodes divide what is guaranteed among the ports of one job, and the contract of " +
                  spec.tenant + " has them isolate jobs inside their class");
  }
  return {};
}

}  // namespace railweave::control
