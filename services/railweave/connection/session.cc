#include "services/railweave/connection/session.h"

#include <cstdlib>
#include <filesystem>

#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

std::string default_server() {
  if (const std::string socket = environment("RAILWEAVE_SOCKET"); !socket.empty()) return "unix:" + socket;
  std::error_code error;
  return std::filesystem::is_socket(kDefaultSocket, error) ? std::string("unix:") + kDefaultSocket : kDefaultServer;
}

Session::Session(Terminal out, Terminal err) : output(out, err) {
  options.server = environment("RAILWEAVE_URL");
  options.profile = environment("RAILWEAVE_PROFILE");
  options.ca_file = environment("RAILWEAVE_CA_FILE");
}

Login Session::login() const {
  const std::string token = environment("RAILWEAVE_TOKEN");
  if (!token.empty() && !options.server.empty()) return {options.server, token, options.ca_file, {}, {}};
  const Credentials known = value_or_fail(read_credentials(credentials_file()));
  const std::string& name = options.profile.empty() ? known.current : options.profile;
  const auto profile = known.profiles.find(name);
  if (!options.profile.empty() && profile == known.profiles.end()) {
    throw CommandFailure({ErrorKind::notFound,
                          "cli.noProfile",
                          "there is no profile '" + name + "'",
                          {},
                          "railweave login --profile " + name + " makes it"});
  }
  Login login;
  if (profile != known.profiles.end()) login = profile->second;
  // A token goes to the service that it is of, and to no other.
  if (!options.server.empty() && options.server != login.server) login = {options.server, {}, {}, {}, {}};
  if (login.server.empty()) login.server = default_server();
  if (!token.empty()) login.token = token;
  if (!options.ca_file.empty()) login.ca_file = options.ca_file;
  return login;
}

Service Session::service_of(const Login& login) const {
  auto url = value_or_fail(api::parse_url(login.server));
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1000));
  return {std::move(url), timeout, login};
}

void Session::note_changed_service() {
  if (!service_ || !service_->has_changed() || !output.terminal().is_terminal || output.is_document()) return;
  output.note("at " + service_->url() + (options.profile.empty() ? "" : ", profile " + options.profile));
}

Service& Session::service() {
  if (!service_) {
    service_ = std::make_unique<Service>(service_of(login()));
    if (options.verbose) service_->tell([this](const std::string& text) { output.note(text); });
  }
  return *service_;
}

}  // namespace railweave::cli
