// Private to this folder: the thread of one webhook.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/client/client.h"
#include "fabric/base/backoff.h"
#include "fabric/base/worker/worker.h"
#include "services/webhooks/deliveries.h"

namespace railweave::webhooks {

class Delivery {
 public:
  Delivery(control::ControlLoop& loop, db::Journal& journal, const DeliveryOptions& options, control::Webhook webhook);
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery();  // ends and waits; says how far it came

  void wake() { worker_.wake(); }  // there are new events
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  using Clock = std::chrono::steady_clock;

  void run(Worker::Turn& turn);
  void send_new(Worker::Turn& turn);
  [[nodiscard]] std::optional<std::string> body_of(const control::ClusterState& state, const db::Record& record) const;
  // False: it is to end.
  [[nodiscard]] bool deliver(Worker::Turn& turn, const db::Record& record, const std::string& body);
  [[nodiscard]] std::optional<std::string> attempt(const db::Record& record, const std::string& body);
  void note_success(std::uint64_t seq);
  bool note_failure(const std::string& why);  // false: it is given up
  void report();
  [[nodiscard]] static std::chrono::microseconds with_chance(std::chrono::microseconds pause);

  control::ControlLoop& loop_;
  db::Journal& journal_;
  const DeliveryOptions& options_;
  const std::uint64_t version_;
  control::Webhook webhook_;  // as it is now; of the thread
  std::optional<api::Client> client_;
  std::string target_;
  std::uint64_t unreported_ = 0;  // deliveries since the last report
  Clock::time_point reported_at_ = Clock::now();
  Backoff backoff_{options_.first_retry, options_.longest_retry};
  Worker worker_{"webhook"};  // last: uses all of the above
};

}  // namespace railweave::webhooks
