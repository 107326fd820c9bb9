#include "services/railweave/terminal/progress.h"

#include <chrono>

#include <fmt/core.h>
#include <unistd.h>

#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

constexpr std::chrono::milliseconds kPatience{1'000};
constexpr std::chrono::milliseconds kTick{200};

void show(const std::string& text) {
  const auto ignored = write(STDERR_FILENO, text.data(), text.size());
  (void)ignored;
}

}  // namespace

Progress::Progress(std::string what, std::size_t columns) : columns_(columns), what_(std::move(what)) {
  worker_.start([this](Worker::Turn& turn) { run(turn); });
}

void Progress::say(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

std::string Progress::what() {
  const std::lock_guard lock(mutex_);
  return what_;
}

void Progress::run(Worker::Turn& turn) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  if (!turn.rest(kPatience)) return;
  do {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - started).count();
    const std::string line = fmt::format("{} ... {} s", printable(what()), seconds);
    show("\r\033[K" + shortened(line, columns_ > 1 ? columns_ - 1 : 1));
  } while (turn.rest(kTick));
  show("\r\033[K");
}

}  // namespace railweave::cli
