#include "services/railweave/connection/operation_wait.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "services/railweave/connection/rest_words.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr std::chrono::milliseconds kFirstPoll{20};
constexpr std::chrono::milliseconds kSlowestPoll{500};

}  // namespace

Json wait_for_operation(Session& session, const std::string& location,
                        const std::function<std::string(const Json& progress)>& say) {
  auto pause = kFirstPoll;
  for (;;) {
    const Json operation = session.service().get(Target(location));
    const std::string state = text_of(operation, "state");
    if (state == "succeeded") return field(operation, "result");
    if (state == "failed") {
      const Json& why = field(operation, "error");
      const std::string code = text_of(why, "code");
      const Json& hint = field(why, "hint");
      throw CommandFailure({kind_of_status(static_cast<int>(count_of(why, "status"))),
                            code,
                            in_commands(text_of(why, "detail")),
                            {},
                            hint.is_string() ? in_commands(text_of(hint)) : std::string()});
    }
    if (state != "running") {
      throw CommandFailure({ErrorKind::malformed,
                            "client.notJson",
                            session.service().url() + " does not report the state of " + location,
                            {},
                            {}});
    }
    session.output.say_progress(say(field(operation, "progress")));
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kSlowestPoll);
  }
}

std::string operation_location(Session& session, const Answer& answer) {
  std::string location(answer.headers.value("Location"));
  if (!location.starts_with("/v1/operations/")) {
    throw CommandFailure({ErrorKind::malformed,
                          "client.notJson",
                          session.service().url() + " accepted the request but names no operation to wait for",
                          {},
                          {}});
  }
  return location;
}

}  // namespace railweave::cli
