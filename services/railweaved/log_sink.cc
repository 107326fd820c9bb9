#include "services/railweaved/log_sink.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace railweave {
namespace {

spdlog::level::level_enum to_spdlog(log::Level level) {
  switch (level) {
    case log::Level::trace:
      return spdlog::level::trace;
    case log::Level::debug:
      return spdlog::level::debug;
    case log::Level::info:
      return spdlog::level::info;
    case log::Level::warn:
      return spdlog::level::warn;
    case log::Level::error:
      return spdlog::level::err;
    case log::Level::off:
      break;
  }
  return spdlog::level::off;
}

class StandardError final : public log::Sink {
 public:
  StandardError() : logger_(spdlog::stderr_color_mt("railweaved")) {
    logger_->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v", spdlog::pattern_time_type::utc);
    logger_->set_level(spdlog::level::trace);  // which levels are written is each log's to say
    logger_->flush_on(spdlog::level::info);
  }
  void write(log::Level level, std::string_view text) override {
    logger_->log(to_spdlog(level), spdlog::string_view_t(text.data(), text.size()));
  }

 private:
  const std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace

std::shared_ptr<log::Sink> standard_error_sink() { return std::make_shared<StandardError>(); }

}  // namespace railweave
