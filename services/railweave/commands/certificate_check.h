// `railweave guarantees verify`: passes the service's certificate, tables and fabric to railweave-verify, a program in the
// same folder that shares no code with the service; also the tables after failures that guarantees survive.
#pragma once

#include <cstdint>
#include <string>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

struct CertificateCheck {
  std::string keep;            // folder to keep the files in; "": a temporary one
  std::uint64_t failures = 8;  // number of survived link failures to check, one after the other, fullest links first
};

// Sets ExitCode::findings where the certificate does not hold.
void verify_certificate(Session& session, const CertificateCheck& check);

}  // namespace railweave::cli
