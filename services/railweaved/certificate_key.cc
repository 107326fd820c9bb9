#include "services/railweaved/certificate_key.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace railweave {

Result<std::shared_ptr<const api::SigningKey>> read_certificate_key(const std::filesystem::path& file) {
  if (file.empty()) return nullptr;
  const auto wrong = [&](const std::string& why, const char* hint) {
    return fail(ErrorKind::invalid, "config.certificateKey", why, file.string(), hint);
  };
  // The file that is looked at is the one that is read.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about{};
  if (descriptor < 0 || ::fstat(descriptor, &about) != 0) {
    const std::string why = std::string("the key of certificates cannot be read: ") + std::strerror(errno);
    if (descriptor >= 0) ::close(descriptor);
    return wrong(why, "openssl genpkey -algorithm ed25519 -out FILE makes one");
  }
  std::array<char, 16'384> bytes{};
  const auto size = ::read(descriptor, bytes.data(), bytes.size());
  ::close(descriptor);
  if (!S_ISREG(about.st_mode) || size < 0) return wrong("the key of certificates is no file", "name a PEM file");
  if ((about.st_mode & 077U) != 0 || (about.st_uid != ::geteuid() && about.st_uid != 0)) {
    return wrong("others than this service's user may use the key of certificates",
                 "chmod 600, and chown it to the user");
  }
  auto key = api::SigningKey::from_pem({bytes.data(), static_cast<std::size_t>(size)});
  if (!key) key.error().location = file.string();
  return key;
}

}  // namespace railweave
