// One run of railweave: the options that every command has, its output, and the service, which is contacted only when a
// command asks for it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "services/railweave/connection/credentials.h"
#include "services/railweave/connection/service.h"
#include "services/railweave/terminal/exit_code.h"
#include "services/railweave/terminal/output.h"

namespace railweave::cli {

struct GlobalOptions {
  std::string server;   // --server, else RAILWEAVE_URL; "": that of the profile, else kDefaultServer
  std::string ca_file;  // --ca-file, else RAILWEAVE_CA_FILE; "": that of the profile, else the system's
  std::string profile;  // --profile, else RAILWEAVE_PROFILE; "": the one in use
  double timeout_s = 60;
  std::string output = "table";
  bool no_headers = false;
  bool verbose = false;  // a line on standard error for each request
};
inline constexpr const char* kDefaultServer = "http://127.0.0.1:7470";
inline constexpr const char* kDefaultSocket = "/run/railweave.sock";
// The service of this machine: at the socket that RAILWEAVE_SOCKET names, else at kDefaultSocket where there is one, else at
// kDefaultServer.
std::string default_server();

class Session {
 public:
  Session(Terminal out, Terminal err);

  GlobalOptions options;
  Output output;
  ExitCode exit_code = ExitCode::ok;  // of a command that ended without throwing
  std::function<void()> command;      // chosen by the command line; main() runs it

  Service& service();
  // As chosen by options, environment and profile. Throws CommandFailure.
  [[nodiscard]] Login login() const;
  // A service with this token, for trying it.
  [[nodiscard]] Service service_of(const Login& login) const;
  // Where something was changed: a line for people who know more than one service by name.
  void note_changed_service();

 private:
  std::unique_ptr<Service> service_;
};

}  // namespace railweave::cli
