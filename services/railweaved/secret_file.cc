#include "services/railweaved/secret_file.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace railweave {

Result<std::string> read_secret_file(const SecretFile& secret) {
  const auto wrong = [&](const std::string& why, const std::string& hint) {
    return fail(ErrorKind::invalid, secret.code, why, secret.file.string(), hint);
  };
  // The file that is looked at is the one that is read.
  const int descriptor = ::open(secret.file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about{};
  if (descriptor < 0 || ::fstat(descriptor, &about) != 0) {
    const std::string why = secret.what + " cannot be read: " + std::strerror(errno);
    if (descriptor >= 0) ::close(descriptor);
    return wrong(why, secret.hint);
  }
  std::array<char, 16'384> bytes{};
  const auto size = ::read(descriptor, bytes.data(), bytes.size());
  ::close(descriptor);
  if (!S_ISREG(about.st_mode) || size < 0) return wrong(secret.what + " is no file", secret.hint);
  if ((about.st_mode & 077U) != 0 || (about.st_uid != ::geteuid() && about.st_uid != 0)) {
    return wrong("others than this service's user may use " + secret.what, "chmod 600, and chown it to the user");
  }
  return std::string(bytes.data(), static_cast<std::size_t>(size));
}

}  // namespace railweave
