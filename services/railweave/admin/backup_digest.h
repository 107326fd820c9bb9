// The SHA-256 of a backup's file, in a file of its own beside it, "<file>.sha256", in the form of sha256sum(1): checksums inside
// a store cover what is in its rows, and not every byte of its file.
#pragma once

#include <filesystem>

#include "fabric/base/error.h"

namespace railweave::cli {

std::filesystem::path digest_path(const std::filesystem::path& backup);

// Of the file as it is now.
Result<void> write_backup_digest(const std::filesystem::path& backup);

// False: there is no digest beside it. Error (db.damaged): the file is not what the digest was made of.
Result<bool> check_backup_digest(const std::filesystem::path& backup);

}  // namespace railweave::cli
