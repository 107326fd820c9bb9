#include "services/railweaved/configured_folders.h"

#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

namespace railweave {
namespace {

// Of a file or socket that is made there; "": there is none.
Result<void> check_parent(const std::string& path, const std::string& key) {
  if (path.empty()) return {};
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (std::filesystem::is_directory(folder.empty() ? "." : folder, error)) return {};
  const bool absent = !error || error == std::errc::no_such_file_or_directory;
  return fail(ErrorKind::invalid, "config.noFolder",
              "the folder " + folder.string() + " of " + key + " = \"" + path + "\" " +
                  (absent ? "does not exist" : "cannot be used: " + error.message()),
              {},
              absent ? "create it, for the service's user to write in: mkdir -p '" + folder.string() + "'"
                     : "name another, or let the service's user use it");
}

// Of files that are made in it again and again; "": there are none.
Result<void> check_writable(const std::string& folder, const std::string& key) {
  if (folder.empty()) return {};
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(folder, error);
  if (is_folder && ::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  const bool absent = !is_folder && (!error || error == std::errc::no_such_file_or_directory);
  const std::string why = absent ? "does not exist" : is_folder ? "cannot be written in" : error.message();
  return fail(ErrorKind::invalid, "config.noFolder", "the folder of " + key + " = \"" + folder + "\" " + why, {},
              "let the service's user write in it: mkdir -p '" + folder + "'; chown it to that user");
}

}  // namespace

Result<void> check_folders(const Config& config) {
  if (auto checked = check_parent(config.socket, "socket"); !checked) return checked;
  if (config.access.authentication == Authentication::tokens) {
    auto checked = check_parent(config.access.admin_token_file.string(), "admin_token_file");
    if (!checked) return checked;
  }
  for (const auto& subnet : config.live.subnets) {
    const std::string of = " of subnet " + subnet.name;
    if (auto checked = check_parent(subnet.opensm_socket, "opensm_socket" + of); !checked) return checked;
    if (auto checked = check_writable(subnet.opensm_files, "opensm_files" + of); !checked) return checked;
  }
  return {};
}

}  // namespace railweave
