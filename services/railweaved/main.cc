// railweaved: the service. Exit codes: 0 stopped by a signal, 2 bad arguments or configuration,
// 75 to be started again (another leads now, or the store lost what was read from it), 1 any other error.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "services/railweaved/config.h"
#include "services/railweaved/log_sink.h"
#include "services/railweaved/service.h"

int main(int argc, char** argv) {
  using namespace railweave;
  const auto line = read_config(std::vector<std::string>(argv + 1, argv + argc));
  if (!line) {
    std::fprintf(stderr, "railweaved: %s\n", line.error().text().c_str());
    return 2;
  }
  if (line->exit) return 0;
  if (line->check) {
    std::puts("railweaved: the configuration is one to start with");
    return 0;
  }

  const log::Log log(standard_error_sink(), line->config.log.levels);

  // Signals are waited for, not handled: every thread started below inherits the blocked mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit is an error of the store

  Service service(line->config, log);
  if (const auto started = service.start(); !started) {
    log.error("{}", started.error().text());
    return 1;
  }
  std::printf("railweaved listens at %s\n", service.url().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  constexpr int kAgain = 75;  // EX_TEMPFAIL: to be started again
  const int code = service.is_to_restart() ? kAgain : 0;
  if (code == 0) {
    log.info("stopping: {}", signal == SIGINT ? "interrupted" : "terminated");
  }
  if (service.stop()) return code;
  // Parts of the service are in use by a computation that no client waits for: they are left to the system.
  log.warn("a computation did not end in {} s and is abandoned", line->config.stop_seconds);
  std::_Exit(code);
}
