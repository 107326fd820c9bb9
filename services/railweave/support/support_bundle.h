// railweave support-bundle: what someone who helps needs to see, in one file, without secrets.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

void add_support_bundle_command(CLI::App& root, Session& session);

}  // namespace railweave::cli
