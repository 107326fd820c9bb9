// errno as an Error that says what, where and what to do.
#pragma once

#include <filesystem>
#include <string>

#include "fabric/base/error.h"

namespace railweave::db::sqlite {

// doing: "create the store". db.readOnly, db.full or db.cannotOpen.
std::unexpected<Error> system_failure(const std::string& doing, int error, const std::filesystem::path& path);

}  // namespace railweave::db::sqlite
