// railweave admin export: the journal as a text file for auditors, which railweave-verify replays. The form:
// services/verify/journal.md.
#pragma once

#include <string>

#include "db/store_copy.h"
#include "db/store_image.h"

namespace railweave::cli {

// Records of kinds that say what is promised to which job and where it runs, with their data; of others only that they are
// there. Where the oldest records were removed, the oldest snapshot stands for them. Errors: of reading; "db.damaged".
Result<std::string> export_journal(db::StoreImage& image, const db::StoreProgress& progress);

}  // namespace railweave::cli
