// The file of secrets from which management keys of a subnet's ports are derived (key_file of [[subnet]]).
#pragma once

#include <string>

#include "fabric/base/error.h"
#include "fabric/drivers/infiniband/key_book.h"

namespace railweave {

// A secret of at least 32 hexadecimal digits on each line, the first in use, at most 16; lines that are empty or begin with #
// are skipped. A device's key is the first 8 bytes of HMAC-SHA-256 over its GUID and the generation: who learns one device's key
// learns no other. Errors: code "config.keyFile".
Result<fabric::ManagementKeyOptions> read_management_keys(const std::string& file);

// OpenSM's m_key, as its options have it ("0x1a2b..."), from a file of its own: shown to ports beside it. Errors as above.
Result<fabric::ManagementKeyOptions> read_opensm_key(const std::string& file);

// The key of requesters that the subnet's administration trusts, from a file of its own. Errors as above.
Result<std::uint64_t> read_administration_key(const std::string& file);

}  // namespace railweave
