// Sends events to the webhooks of the state, while this process leads: in order, each until its receiver has said 2xx, from
// where the state says that it has come. A thread per webhook, so that one that hangs delays no other.
//
// A receiver that fails is asked again after longer and longer pauses; one that fails for too long is disabled, with an
// alarm. How far each has come is an event of its own, not for each delivery: after a crash some are sent again.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "db/journal.h"
#include "fabric/base/log/log.h"
#include "fabric/base/worker/worker.h"
#include "services/control/control_loop.h"
#include "services/control/events/event_feed.h"
#include "services/webhooks/address_rules.h"

namespace railweave::webhooks {

struct DeliveryOptions {
  using Seconds = std::chrono::seconds;
  AddressRules addresses;
  std::string ca_file;                           // certificates that are trusted; "": those of the system
  std::chrono::milliseconds timeout{5'000};      // of one delivery
  std::chrono::milliseconds first_retry{1'000};  // doubled with every failure, up to
  std::chrono::milliseconds longest_retry{300'000};
  Seconds give_up{86'400};  // after failing for this long
  Seconds report{30};       // least time between events about progress alone
  log::Log log;             // never has the address of a receiver, which is as good as a password
};

class Delivery;

class Deliveries {
 public:
  Deliveries(control::ControlLoop& loop, db::Journal& journal, control::EventFeed& feed, DeliveryOptions options);
  Deliveries(const Deliveries&) = delete;
  Deliveries& operator=(const Deliveries&) = delete;
  ~Deliveries();

  void start();  // once this process leads
  void stop();   // waits for the deliveries under way; may be called twice

 private:
  void follow_state();

  control::ControlLoop& loop_;
  db::Journal& journal_;
  control::EventFeed& feed_;
  const DeliveryOptions options_;
  std::uint64_t watching_ = 0;                                // subscription; 0: none
  std::map<std::string, std::unique_ptr<Delivery>> by_name_;  // of the worker
  Worker worker_{"webhooks"};                                 // last: uses all of the above; woken by events
};

}  // namespace railweave::webhooks
