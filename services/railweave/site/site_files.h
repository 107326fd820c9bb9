// The files that a site gives, read and recognised: what `railweave fabric import` and `railweave assess` work on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/formats/sources/site_import.h"
#include "fabric/formats/sources/source_kind.h"
#include "services/railweave/connection/fetch.h"
#include "services/railweave/terminal/output.h"

namespace railweave::cli {

struct SiteFile {
  std::string path, name;  // as given, and as shown
  std::string text;        // of YAML: as JSON
  std::string read_at;     // when the file was last written: "2026-11-26T18:00:00Z"
  fabric::Recognised recognised;
  bool from_folder = false;
};

// A folder stands for the files in it, in the order of their names, and a URL for what it answers. Throws CommandFailure
// where something cannot be read.
std::vector<SiteFile> read_site_files(const std::vector<std::string>& paths, const FetchAccess& access);

// Refuses files that are nothing that is read: why, and the list of what is. In folders such files are left out with a note, as
// tools write their dumps beside other files, unless there is nothing else.
void refuse_unknown(const std::vector<SiteFile>& files, Output& output);

// Throws CommandFailure.
std::shared_ptr<const fabric::Topology> fabric_of(const std::vector<SiteFile>& files,
                                                  const fabric::SiteImportOptions& options);

}  // namespace railweave::cli
