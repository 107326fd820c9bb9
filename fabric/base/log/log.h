// What happened, told to whoever runs the service. A Log is passed in like the clock, and only to what has an edge to the world:
// the pure core returns what it did, and its caller tells. One that was given no sink writes nothing and costs a comparison.
//
//   log::Log log = service_log.of(log::Subject::control).span("request", request.id);
//   log.debug("event {} {}", record.seq, record.kind);
//     -> 2026-11-26T13:50:00.123Z debug control request=1f0c77a2-9 event 12 job.placed
//
// A span is what several lines are about: a request, or a round of a live subnet. Its id is in each line, and in the journal's
// records that came of it, so `grep request=ID` is its story. Thread-safe as far as the sink is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/enum_text.h"
#include "fabric/base/error.h"

namespace railweave::log {

enum class Level : std::uint8_t { trace, debug, info, warn, error, off };
BOOST_DESCRIBE_ENUM(Level, trace, debug, info, warn, error, off)

// The part of the service that tells; each has a level of its own.
enum class Subject : std::uint8_t {
  service,   // start, stop, configuration
  rest,      // requests and their answers
  control,   // decisions, events, appends
  store,     // the journal and who may write it
  live,      // live subnets
  webhooks,  // deliveries
};
BOOST_DESCRIBE_ENUM(Subject, service, rest, control, store, live, webhooks)

class Levels {
 public:
  // "info", "live=debug,rest=info", "warn,control=trace": a level alone is that of all subjects that are not named.
  static Result<Levels> parse(std::string_view text);

  [[nodiscard]] Level of(Subject subject) const { return of_[static_cast<std::size_t>(subject)]; }
  void set(Subject subject, Level level) { of_[static_cast<std::size_t>(subject)] = level; }

 private:
  std::array<Level, enum_values<Subject>().size()> of_ = all(Level::info);
  static constexpr decltype(of_) all(Level level) {
    decltype(of_) levels{};
    levels.fill(level);
    return levels;
  }
};

// Where lines go: a file, a terminal, a test. Called from any thread.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;
  // text: plain(), one line without its end.
  virtual void write(Level level, std::string_view text) = 0;
};

class Log {
 public:
  Log() = default;
  Log(std::shared_ptr<Sink> sink, const Levels& levels) : sink_(std::move(sink)), levels_(levels) {}

  // The same for another part of the service.
  [[nodiscard]] Log of(Subject subject) const {
    Log other = *this;
    other.subject_ = subject;
    return other;
  }
  // The same whose lines have `key=id` too; ids of callers must have passed a check of their form.
  [[nodiscard]] Log span(std::string_view key, std::string_view id) const {
    Log other = *this;
    if (sink_ != nullptr) other.spans_.append(key).append("=").append(id).append(" ");
    return other;
  }

  [[nodiscard]] bool is_on(Level level) const { return sink_ != nullptr && level >= levels_.of(subject_); }

  template <class... Values>
  void trace(fmt::format_string<Values...> format, Values&&... values) const {
    write(Level::trace, format, std::forward<Values>(values)...);
  }
  template <class... Values>
  void debug(fmt::format_string<Values...> format, Values&&... values) const {
    write(Level::debug, format, std::forward<Values>(values)...);
  }
  template <class... Values>
  void info(fmt::format_string<Values...> format, Values&&... values) const {
    write(Level::info, format, std::forward<Values>(values)...);
  }
  template <class... Values>
  void warn(fmt::format_string<Values...> format, Values&&... values) const {
    write(Level::warn, format, std::forward<Values>(values)...);
  }
  template <class... Values>
  void error(fmt::format_string<Values...> format, Values&&... values) const {
    write(Level::error, format, std::forward<Values>(values)...);
  }
  template <class... Values>
  void write(Level level, fmt::format_string<Values...> format, Values&&... values) const {
    if (is_on(level)) put(level, fmt::vformat(format, fmt::make_format_args(values...)));
  }

 private:
  void put(Level level, const std::string& text) const;

  std::shared_ptr<Sink> sink_;  // null: nothing is written
  Levels levels_;
  Subject subject_ = Subject::service;
  std::string spans_;  // "request=ID ", each with a blank behind it
};

// As lines show it: without control characters, secrets and the end of what is very long. Secrets are access tokens, JSON Web
// Tokens, user names and passwords in addresses, and the paths of http addresses, which for webhooks are as good as passwords.
std::string plain(std::string_view text);

}  // namespace railweave::log
