// What the configuration of a switch is made from: its forwarding table, and what the service does not know of the network.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "services/railweave/connection/service.h"
#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// The entries of its forwarding table. Throws CommandFailure.
Json table_of_switch(Service& service, const std::string& id);

// --names FILE, and --ethernet-step N: how the numbers of SONiC's ports follow each other.
void add_names_option(CLI::App& command, std::string& file);
void add_port_step_option(CLI::App& command, std::uint64_t& step);

// A document for read_network_names(); null where the file is "". Throws CommandFailure.
Json read_names_document(const std::string& file);

}  // namespace railweave::cli
