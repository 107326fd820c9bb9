#include "services/railweave/terminal/progress.h"

#include <chrono>

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

Progress::Progress(std::string what, std::size_t columns)
    : columns_(columns), what_(std::move(what)), thread_([this] { run(); }) {}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Progress::say(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void Progress::run() {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, kPatience, [this] { return stopping_; })) return;
  do {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - started).count();
    const std::string line = printable(what_) + " ... " + std::to_string(seconds) + " s";
    show("\r\033[K" + shortened(line, columns_ > 1 ? columns_ - 1 : 1));
  } while (!wake_.wait_for(lock, kTick, [this] { return stopping_; }));
  show("\r\033[K");
}

}  // namespace railweave::cli
