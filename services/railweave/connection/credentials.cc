#include "services/railweave/connection/credentials.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <sys/stat.h>

#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/json.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

std::filesystem::path from_environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

std::string string_of(const Json& object, const char* name) {
  const Json& value = field(object, foreign(name));
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace

std::filesystem::path credentials_file() {
  if (auto file = from_environment("RAILWEAVE_CREDENTIALS"); !file.empty()) return file;
  auto folder = from_environment("XDG_CONFIG_HOME");
  if (folder.empty()) folder = from_environment("HOME") / ".config";
  return folder / "railweave" / "credentials.json";
}

Result<Credentials> read_credentials(const std::filesystem::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Credentials{};
    return fail(ErrorKind::invalid, "cli.cannotReadFile", std::strerror(errno), file.string());
  }
  if ((status.st_mode & 077U) != 0) {
    return fail(ErrorKind::invalid, "cli.credentialsOpen", "others may read this file of tokens", file.string(),
                "chmod 600 " + file.string() + ", and revoke the tokens if others did");
  }
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto document = parse_json(text, file.string());
  if (!document) return std::unexpected(document.error());
  Credentials credentials;
  credentials.current = string_of(*document, "current");
  const Json& profiles = field(*document, foreign("profiles"));
  if (!profiles.is_object()) {
    return fail(ErrorKind::invalid, "cli.credentials", "there are no profiles in this file", file.string(),
                "remove it and log in again");
  }
  for (const auto& [name, profile] : profiles.items()) {
    credentials.profiles[name] = {string_of(profile, "server"), string_of(profile, "token"),
                                  string_of(profile, "caFile"), string_of(profile, "certificateFile"),
                                  string_of(profile, "keyFile")};
  }
  return credentials;
}

void write_credentials(const std::filesystem::path& file, const Credentials& credentials) {
  Json profiles = Json::object();
  for (const auto& [name, login] : credentials.profiles) {
    profiles[name] = {{"server", login.server}, {"token", login.token}, {"caFile", login.ca_file}};
    if (login.certificate_file.empty()) continue;
    profiles[name]["certificateFile"] = login.certificate_file;
    profiles[name]["keyFile"] = login.key_file;
  }
  const Json document{{"current", credentials.current}, {"profiles", std::move(profiles)}};
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  write_file(file.string(), document.dump(2) + "\n", 0600);
}

}  // namespace railweave::cli
