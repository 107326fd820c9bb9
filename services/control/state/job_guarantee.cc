#include "services/control/state/job_guarantee.h"

namespace railweave::control {

std::string_view to_string(GuaranteeChange change) {
  switch (change) {
    case GuaranteeChange::at_risk:
      return "atRisk";
    case GuaranteeChange::restored:
      return "restored";
    case GuaranteeChange::covered:
      return "coverage";
    case GuaranteeChange::amended:
      return "amended";
  }
  return "";
}

}  // namespace railweave::control
