#include "db/sqlite/system_failure.h"

#include <cerrno>
#include <system_error>

namespace railweave::db::sqlite {

std::unexpected<Error> system_failure(const std::string& doing, int error, const std::filesystem::path& path) {
  const std::string reason = std::generic_category().message(error);
  if (error == EROFS || error == EACCES || error == EPERM) {
    return fail(ErrorKind::unavailable, "db.readOnly", "cannot " + doing + ": " + reason, path.string(),
                "give the service's user write permission on it and its directory, on a writable file system");
  }
  if (error == ENOSPC || error == EDQUOT) {
    return fail(ErrorKind::unavailable, "db.full", "cannot " + doing + ": " + reason, path.string(),
                "free space on the file system");
  }
  return fail(ErrorKind::unavailable, "db.cannotOpen", "cannot " + doing + ": " + reason, path.string(),
              "check the path, its permissions and the system's limits");
}

}  // namespace railweave::db::sqlite
