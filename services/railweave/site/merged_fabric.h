// The fabric of a site's files as a document, and what is to be said of it.
#pragma once

#include <string>
#include <vector>

#include "services/railweave/site/site_files.h"
#include "services/railweave/terminal/json.h"

namespace railweave::cli {

struct MergedFabric {
  std::string native;  // native JSON
  Json report;         // summary and findings, with the field names of GET /v1/fabric
};

// Throws CommandFailure.
MergedFabric merge_files(const std::vector<SiteFile>& files, const fabric::SiteImportOptions& options);

}  // namespace railweave::cli
