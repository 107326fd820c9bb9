// `railweave guarantees verify`: the service's certificate, tables and fabric given to railweave-verify, which stands
// beside this program and shares no code with the service.
#pragma once

#include <string>

#include "services/railweave/session.h"

namespace railweave::cli {

// `keep`: a folder to leave the files in; "": a temporary one. What it finds wrong is ExitCode::findings.
void verify_certificate(Session& session, const std::string& keep);

}  // namespace railweave::cli
