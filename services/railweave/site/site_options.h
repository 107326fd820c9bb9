// Options of commands that make a fabric of a site's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "fabric/formats/sources/site_import.h"
#include "services/railweave/connection/fetch.h"
#include "services/railweave/connection/session.h"

namespace railweave::cli {

struct SiteOptions {
  std::string subnet, hosts, token_file;
  std::optional<std::uint64_t> gpus_per_node, nvlink_domain;
};

void add_site_options(CLI::App& command, SiteOptions& options);
fabric::SiteImportOptions import_options(const SiteOptions& options);
// Those that are set, as words of a command line with a blank before each; the token's file too, never the token.
std::string command_words(const SiteOptions& options);
// How sources that are URLs are read: with the certificates and the time limit of every command. Throws CommandFailure.
FetchAccess fetch_access(const SiteOptions& options, const GlobalOptions& global);

}  // namespace railweave::cli
