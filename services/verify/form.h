// The form of a certificate (certificate.md): every field that it has is one that is checked here or elsewhere, of its type, and
// none is missing. Used by main.cc, before anything of it is read.
#pragma once

#include <nlohmann/json.hpp>

#include "services/verify/verdict.h"

namespace railweave::verify {

// Faults: members that are unknown, missing, or of another type. Then nothing else of it may be read.
void check_form(const nlohmann::json& certificate, Verdict& verdict);

}  // namespace railweave::verify
