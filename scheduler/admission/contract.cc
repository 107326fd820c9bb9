#include "scheduler/admission/contract.h"

namespace railweave::scheduler {

Result<void> check_contract(const Contract& contract) {
  const auto refuse = [](std::string message, std::string at) {
    return fail(ErrorKind::invalid, "contracts.invalid", std::move(message), std::move(at));
  };
  if (contract.tenant.empty()) return refuse("the contract names no tenant", "/tenant");
  if (contract.guaranteed.value() < 0) return refuse("the guaranteed rate is negative", "/guaranteedMbps");
  if (contract.most && *contract.most < contract.guaranteed) {
    return refuse("the maximum rate is below the guaranteed rate", "/maxMbps");
  }
  if (contract.most && contract.most->value() <= 0) return refuse("the maximum rate must be above 0", "/maxMbps");
  if (contract.reserved_permille == 0 || contract.reserved_permille > 1000) {
    return refuse("the reserved share must be 1 to 1000 permille", "/reservedPermille");
  }
  return {};
}

}  // namespace railweave::scheduler
