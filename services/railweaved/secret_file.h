// Files with secrets: read only where no user but the service's, or root, can.
#pragma once

#include <filesystem>
#include <string>

#include "fabric/base/error.h"

namespace railweave {

struct SecretFile {
  std::filesystem::path file;
  std::string code;  // of errors: "config.certificateKey"
  std::string what;  // "the key of certificates"
  std::string hint;  // how to make one
};

// At most 16 KiB of it. Errors: kind invalid; it cannot be read, is no file, or others may read it.
Result<std::string> read_secret_file(const SecretFile& secret);

}  // namespace railweave
