// The marks of packets in a certificate: which service levels and lanes classes and owners of lanes have, by their numbers
// alone (certificate.md). Used by main.cc.
#pragma once

#include <nlohmann/json.hpp>

#include "services/verify/verdict.h"

namespace railweave::verify {

void check_marks(const nlohmann::json& certificate, Verdict& verdict);

}  // namespace railweave::verify
