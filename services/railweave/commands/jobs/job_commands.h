// `railweave jobs`: a file per command or a few, named here.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

// Below the root, called by main().
void add_job_commands(CLI::App& root, Session& session);

// Below `railweave jobs`: job_submit.cc, job_adopt.cc, job_change.cc (hold, release, change, move), job_repair.cc (repair,
// checkpoint), job_launch.cc (accept, running, freed), job_ports.cc.
void add_job_adopt_command(CLI::App& jobs, Session& session);
void add_job_change_commands(CLI::App& jobs, Session& session);
void add_job_submit_command(CLI::App& jobs, Session& session);
void add_job_repair_commands(CLI::App& jobs, Session& session);
void add_job_launch_commands(CLI::App& jobs, Session& session);
void add_job_ports_command(CLI::App& jobs, Session& session);
void add_job_traffic_command(CLI::App& jobs, Session& session);
void add_job_steps_command(CLI::App& jobs, Session& session);

}  // namespace railweave::cli
