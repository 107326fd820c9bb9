// A certificate of what is guaranteed: for every link what is reserved of it, by whom and by which routes, so that a
// program that shares no code with this one (services/verify) can check it. The format is in
// services/verify/certificate.md.
#pragma once

#include <string>
#include <vector>

#include "fabric/capacity/ledger.h"
#include "fabric/qos/infiniband_plan.h"
#include "fabric/qos/qos_class.h"

namespace railweave::api {

struct CertificateInput {
  const fabric::FabricView* view = nullptr;
  const fabric::ForwardingTables* tables = nullptr;
  const fabric::Ledger* ledger = nullptr;
  const fabric::QosClasses* classes = nullptr;
  const fabric::InfinibandPlan* plan = nullptr;  // none: weights are the classes' shares
  std::string_view fdbs;                         // fabric::write_fdbs(tables): what is digested
};

// One link a line, those with something reserved.
std::string write_certificate(const CertificateInput& input);

}  // namespace railweave::api
