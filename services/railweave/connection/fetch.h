// Documents of other services, such as UFM's REST answers: read with GET alone, and nothing else is ever sent there.
#pragma once

#include <cstddef>
#include <string>

#include "fabric/base/error.h"

namespace railweave::cli {

struct FetchAccess {
  std::string token;    // shown as UFM wants it ("Authorization: Basic TOKEN"); "": none
  std::string ca_file;  // certificates trusted for https; "": those of the system
  double timeout_s = 60;
};

// http://... or https://...
bool is_url(const std::string& path);
// Without what follows "?", which may hold secrets.
std::string shown_url(const std::string& url);

// Errors: no URL, no answer, another status than 200, tooLarge. A redirection is another status.
Result<std::string> fetch(const std::string& url, const FetchAccess& access, std::size_t limit_bytes);

}  // namespace railweave::cli
