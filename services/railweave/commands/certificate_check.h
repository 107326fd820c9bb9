// `railweave guarantees verify`: the service's certificate, tables and fabric given to railweave-verify, which stands
// beside this program and shares no code with the service; also the tables after failures that guarantees survive.
#pragma once

#include <cstdint>
#include <string>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

struct CertificateCheck {
  std::string keep;            // a folder to leave the files in; "": a temporary one
  std::uint64_t failures = 8;  // links that fail in turn, of those that guarantees survive: the fullest
};

// What it finds wrong is ExitCode::findings.
void verify_certificate(Session& session, const CertificateCheck& check);

}  // namespace railweave::cli
