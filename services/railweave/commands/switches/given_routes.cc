#include "services/railweave/commands/switches/given_routes.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "fabric/base/text/percent.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_folder(const std::string& what, const fs::path& path, const char* hint = "") {
  throw CommandFailure({ErrorKind::conflict, "cli.routesFolder", what, path.string(), hint});
}

// "": there is no such file.
std::string text_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in && fs::exists(path)) fail_folder("cannot be read", path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

GivenRoutes::GivenRoutes(fs::path folder, const std::string& what, bool is_dry_run) : folder_(std::move(folder)) {
  const fs::path label = folder_ / "of";
  if (!is_dry_run) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) fail_folder("cannot be made: " + error.message(), folder_);
    const fs::path lock = folder_ / "lock";
    lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);  // NOLINT: a system call
    if (lock_ < 0) fail_folder(std::string("cannot be opened: ") + std::strerror(errno), lock);  // NOLINT
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      ::close(lock_);
      fail_folder("another process has this folder", folder_, "end it, or name another folder with --state");
    }
  }
  const std::string known = text_of_file(label);
  if (!known.empty() && known != what + "\n") {
    if (lock_ >= 0) ::close(lock_);
    fail_folder("holds " + known.substr(0, known.find('\n')) + ", and not " + what, folder_,
                "name another folder with --state");
  }
  if (!is_dry_run && known.empty()) write_file(label.string(), what + "\n");
}

GivenRoutes::~GivenRoutes() {
  if (lock_ >= 0) ::close(lock_);
}

fs::path GivenRoutes::file_of(const char* kind, const std::string& name) const {
  return folder_ / (kind + percent_encode(name));
}

std::string GivenRoutes::of(const std::string& name) const { return text_of_file(file_of("switch-", name)); }

std::string GivenRoutes::mark_of(const std::string& name) const {
  return fs::exists(file_of("switch-", name)) ? text_of_file(file_of("mark-", name)) : std::string();
}

void GivenRoutes::keep(const std::string& name, const std::string& text) const {
  std::error_code error;
  fs::remove(file_of("mark-", name), error);
  if (error) fail_folder("cannot be removed: " + error.message(), file_of("mark-", name));
  write_file(file_of("switch-", name).string(), text);
}

void GivenRoutes::keep_mark(const std::string& name, const std::string& mark) const {
  write_file(file_of("mark-", name).string(), mark);
}

}  // namespace railweave::cli
