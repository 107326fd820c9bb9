#include "services/control/replica.h"

#include <utility>

namespace railweave::control {
namespace {

constexpr std::chrono::milliseconds kAfterWarning{200};

}  // namespace

Replica::Replica(db::SharedJournal& journal, ControlLoop& loop, ReplicaOptions options)
    : journal_(journal), loop_(loop), options_(std::move(options)) {}

void Replica::start() {
  worker_.start([this](Worker::Turn& turn) {
    while (!turn.is_to_end() && !step()) {
      if (!last_warning_.empty()) turn.pause(kAfterWarning);
    }
  });
}

std::chrono::milliseconds Replica::staleness() const {
  if (!follows_) return std::chrono::milliseconds(0);
  const Clock::time_point fresh{Clock::duration(fresh_.load())};
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - fresh);
}

bool Replica::step() {
  const auto warn = [this](const Error& error) {
    // Once for each reason: this may be tried for hours.
    if (error.code != last_warning_) options_.log.warn("the leader cannot be followed: {}", error.text());
    last_warning_ = error.code;
    return false;
  };
  const auto none_leads = journal_.wait_for_news(options_.poll);
  if (!none_leads) return warn(none_leads.error());
  const auto began = Clock::now();
  if (const auto followed = loop_.follow(); !followed) return warn(followed.error());
  fresh_ = began.time_since_epoch().count();
  if (!last_warning_.empty()) options_.log.info("the leader is followed again");
  last_warning_.clear();
  if (!*none_leads) return false;
  options_.log.debug("no process leads: the lease is asked for");
  const auto leads = journal_.try_lead();
  if (!leads) return warn(leads.error());
  return *leads && take_over();
}

bool Replica::take_over() {
  options_.log.info("takes over: the lease is held, term {}; events up to {} were read", journal_.term(),
                    loop_.state()->seq);
  if (const auto led = loop_.lead(); !led) {
    options_.on_failed(led.error());
    return true;
  }
  if (const auto outside = options_.on_lead(); !outside) {
    options_.on_failed(outside.error());
    return true;
  }
  follows_ = false;
  return true;
}

}  // namespace railweave::control
