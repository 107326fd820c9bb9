// The key by which certificates of guarantees are signed, from the file that the configuration names.
#pragma once

#include <filesystem>
#include <memory>

#include "services/json/signing_key.h"

namespace railweave {

// Null where no file is named. Errors: "config.certificateKey" where it cannot be read, or others than its owner may read or
// change it; "key.notEd25519".
Result<std::shared_ptr<const api::SigningKey>> read_certificate_key(const std::filesystem::path& file);

}  // namespace railweave
