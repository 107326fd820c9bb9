// SHA-256 as 64 lower-case hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace railweave::api {

std::string sha256_hex(std::string_view bytes);

}  // namespace railweave::api
