// Saved logins: which token is for which service, by a name of the user's. A file of mode 0600 that only its owner may read.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "fabric/base/error.h"

namespace railweave::cli {

struct Login {
  std::string server;                      // its URL
  std::string token;                       // "": the service asks for none
  std::string ca_file;                     // certificates trusted for https; "": those of the system
  std::string certificate_file, key_file;  // shown to the service over https; "": none
};

struct Credentials {
  std::string current;  // name of the profile in use; "": none
  std::map<std::string, Login, std::less<>> profiles;
};

// RAILWEAVE_CREDENTIALS, else railweave/credentials.json below XDG_CONFIG_HOME or ~/.config.
std::filesystem::path credentials_file();

// No file: no profiles. Refuses a file that others may read.
Result<Credentials> read_credentials(const std::filesystem::path& file);
// Makes the folder. Throws CommandFailure.
void write_credentials(const std::filesystem::path& file, const Credentials& credentials);

}  // namespace railweave::cli
