#include "services/railweave/connection/session.h"

#include <cstdlib>

#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {

Session::Session(Terminal out, Terminal err) : output(out, err) {
  const char* url = std::getenv("RAILWEAVE_URL");  // NOLINT(concurrency-mt-unsafe): before any thread
  options.server = url != nullptr && *url != '\0' ? url : kDefaultServer;
}

Service& Session::service() {
  if (!service_) {
    auto url = value_or_fail(api::parse_url(options.server));
    const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1000));
    service_ = std::make_unique<Service>(std::move(url), timeout);
  }
  return *service_;
}

}  // namespace railweave::cli
