// The configuration's file: any text gives a configuration within the limits that config.toml.example tells, or an error that says
// what is wrong and where.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <ios>
#include <string>

#include <unistd.h>

#include "fabric/base/check.h"
#include "services/railweaved/config.h"

using namespace railweave;  // NOLINT

namespace {

// One file of this process, written again for each input; removed at its end.
class InputFile {
 public:
  InputFile() : path_("/dev/shm/railweave-config-fuzz-" + std::to_string(::getpid())) {}
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() { ::unlink(path_.c_str()); }
  const std::string& write(const std::uint8_t* data, std::size_t size) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    return path_;
  }

 private:
  const std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 20'000) return 0;
  static InputFile file;
  const auto line = read_config({"--config", file.write(data, size)});
  if (!line) {
    const Error& error = line.error();
    RAILWEAVE_CHECK(error.code.starts_with("config.") && !error.message.empty() && !error.location.empty(),
                    "an error says what is wrong, and where");
    return 0;
  }
  const Config& config = line->config;
  RAILWEAVE_CHECK(
      !line->exit && config.queue_limit >= 1 && config.replica.lease_seconds >= 1 && config.replica.lease_seconds <= 60,
      "limits");
  RAILWEAVE_CHECK(config.access.tls_certificate.empty() == config.access.tls_key.empty(), "a certificate has its key");
  for (const auto& subnet : config.live.subnets)
    RAILWEAVE_CHECK(!subnet.name.empty() && subnet.window >= 1 && subnet.window <= 64, "a subnet's limits");
  for (const auto& account : config.access.certificates) {
    RAILWEAVE_CHECK(!account.name.empty() && (account.role == control::Role::member) != account.tenant.empty(),
                    "a member has a tenant");
  }
  return 0;
}
