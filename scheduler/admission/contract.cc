#include "scheduler/admission/contract.h"

namespace railweave::scheduler {

Result<void> check_contract(const Contract& contract) {
  const auto refuse = [](std::string message, std::string at) {
    return fail(ErrorKind::invalid, "contracts.invalid", std::move(message), std::move(at));
  };
  if (contract.tenant.empty()) return refuse("a contract names its tenant", "/tenant");
  if (contract.guaranteed.value() < 0) return refuse("a rate is not negative", "/guaranteedMbps");
  if (contract.most && *contract.most < contract.guaranteed) {
    return refuse("the most is at least what is guaranteed", "/maxMbps");
  }
  if (contract.most && contract.most->value() <= 0) return refuse("the most is above 0", "/maxMbps");
  if (contract.reserved_permille == 0 || contract.reserved_permille > 1000) {
    return refuse("what is reserved of a promise is 1 to 1000 permille", "/reservedPermille");
  }
  return {};
}

}  // namespace railweave::scheduler
