// railweaved: the service. Exit codes: 0 stopped by a signal, 2 bad arguments or configuration,
// 75 to be started again (another leads now, or the store lost what was read from it), 1 any other error.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "services/railweaved/config.h"
#include "services/railweaved/service.h"

int main(int argc, char** argv) {
  using namespace railweave;
  const auto line = read_config(std::vector<std::string>(argv + 1, argv + argc));
  if (!line) {
    std::fprintf(stderr, "railweaved: %s\n", line.error().text().c_str());
    return 2;
  }
  if (line->exit) return 0;

  spdlog::set_default_logger(spdlog::stderr_color_mt("railweaved"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v", spdlog::pattern_time_type::utc);
  spdlog::set_level(spdlog::level::from_str(line->config.log_level));
  spdlog::flush_on(spdlog::level::info);

  // Signals are waited for, not handled: every thread started below inherits the blocked mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit is an error of the store

  Service service(line->config);
  if (const auto started = service.start(); !started) {
    spdlog::error("{}", started.error().text());
    return 1;
  }
  std::printf("railweaved listens at %s\n", service.url().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  constexpr int kAgain = 75;  // EX_TEMPFAIL: to be started again
  const int code = service.is_to_restart() ? kAgain : 0;
  if (code == 0) {
    spdlog::info("stopping: {}", signal == SIGINT ? "interrupted" : "terminated");
  }
  if (service.stop()) return code;
  // Parts of the service are in use by a computation that no client waits for: they are left to the system.
  spdlog::warn("a computation did not end in {} s and is abandoned", line->config.stop_seconds);
  std::_Exit(code);
}
