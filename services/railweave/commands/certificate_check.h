// `railweave guarantees verify`: passes the service's certificate, tables and fabric to railweave-verify, a program in the
// same folder that shares no code with the service; also contracts, classes, jobs and links that are down, to compare the
// certificate with, and the tables after every failure that it claims to survive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

struct CertificateCheck {
  std::string keep;  // folder to keep the files in; "": a temporary one
  // Number of survived link failures to check. With less than all of them the certificate is never said to hold.
  std::optional<std::uint64_t> failures;  // none: all
};

// Sets ExitCode::findings where the certificate does not hold, or not all that it claims was checked.
void verify_certificate(Session& session, const CertificateCheck& check);

}  // namespace railweave::cli
