// A certificate of the guarantees: for every link the capacity reserved, by which jobs and over which routes, so that a
// program that shares no code with this one (services/verify) can check it. The format: services/verify/certificate.md.
#pragma once

#include <cstdint>
#include <string>

#include "fabric/capacity/ledger.h"
#include "fabric/qos/infiniband_plan.h"
#include "fabric/qos/qos_class.h"
#include "services/json/signing_key.h"

namespace railweave::api {

struct CertificateInput {
  std::uint64_t seq = 0;  // of the newest record of the journal that is in it
  const fabric::FabricView* view = nullptr;
  const fabric::ForwardingTables* tables = nullptr;
  const fabric::Ledger* ledger = nullptr;
  const fabric::QosClasses* classes = nullptr;
  const fabric::InfinibandPlan* plan = nullptr;  // null: refused, so no InfiniBand port promises anything
  std::string_view refused;                      // why
  fabric::ArbitrationLimits arbitration;
  bool limits_known = false;         // devices reported them
  std::uint64_t entries_digest = 0;  // fabric::entries_digest(tables)
};

// One line for each link with a reservation. Not signed.
std::string write_certificate(const CertificateInput& input);

// The certificate with a last line for its signature, which is over all bytes before that line.
std::string signed_certificate(std::string certificate, const SigningKey& key);
// The public key, with its id as certificates name it.
std::string write_certificate_key(const SigningKey& key);

}  // namespace railweave::api
