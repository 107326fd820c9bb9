#include "services/railweave/admin/backup_digest.h"

#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "services/json/digest.h"

namespace railweave::cli {

namespace {

Result<std::string> sha256_of(const std::filesystem::path& path) {
  constexpr std::size_t kPiece = 1U << 20U;
  std::ifstream file(path, std::ios::binary);
  std::string piece(kPiece, '\0');
  api::Sha256 digest;
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    digest.add(std::string_view(piece).substr(0, static_cast<std::size_t>(file.gcount())));
  }
  if (file.eof()) return std::move(digest).hex();
  return fail(ErrorKind::unavailable, "file.unreadable", "the file cannot be read", path.string(),
              "check that it is there, and the permission to read it");
}

}  // namespace

std::filesystem::path digest_path(const std::filesystem::path& backup) { return backup.string() + ".sha256"; }

Result<void> write_backup_digest(const std::filesystem::path& backup) {
  const auto digest = sha256_of(backup);
  if (!digest) return std::unexpected(digest.error());
  const auto path = digest_path(backup);
  std::ofstream file(path, std::ios::trunc);
  file << *digest << "  " << backup.filename().string() << "\n" << std::flush;
  if (file) return {};
  return fail(ErrorKind::unavailable, "file.unwritable", "the backup's digest cannot be written", path.string(),
              "check the space and the permissions there; sha256sum FILE > FILE.sha256 makes it too");
}

Result<bool> check_backup_digest(const std::filesystem::path& backup) {
  const auto path = digest_path(backup);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  std::ifstream file(path);
  std::string expected;
  if (!(file >> expected)) {
    return fail(ErrorKind::unavailable, "file.unreadable", "the backup's digest cannot be read", path.string(),
                "remove it to go on without it");
  }
  const auto digest = sha256_of(backup);
  if (!digest) return std::unexpected(digest.error());
  if (*digest == expected) return true;
  return fail(ErrorKind::internal, "db.damaged",
              "the file is damaged: it is not what was backed up, its SHA-256 is " + *digest + ", and " +
                  path.filename().string() + " says " + expected,
              backup.string(),
              "take another backup; where a service has written this file since, it is no backup any more: remove " +
                  path.filename().string());
}

}  // namespace railweave::cli
