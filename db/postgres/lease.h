// Who may write: one row with holder, term and expiry (table lease). Every append checks it in its own statement, so a
// writer that lost it cannot store anything, whatever it believes. A thread with a session of its own renews it at a third
// of its length.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "db/postgres/session.h"
#include "fabric/base/log/log.h"
#include "fabric/base/worker/worker.h"

namespace railweave::db::postgres {

struct LeaseOptions {
  std::string holder;                         // who: shown to others; must differ between processes
  std::chrono::milliseconds length{5'000};    // how long it holds without renewal
  std::chrono::milliseconds patience{7'000};  // how long to wait for another holder's to expire
  std::function<void()> on_deposed;           // once, when another holder is seen to have it; from any thread
  log::Log log{};
};

class Lease {
 public:
  // db.locked (conflict) while another holder has it.
  static Result<std::unique_ptr<Lease>> acquire(const std::string& url, const SessionOptions& session,
                                                const LeaseOptions& options);

  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease();  // gives it back, so that a successor need not wait

  [[nodiscard]] const std::string& holder() const { return options_.holder; }
  [[nodiscard]] std::uint64_t term() const { return term_; }
  // False once another holder took over, or when the last renewal that is known to have arrived is too old: then another
  // may have. By the monotonic clock of this machine.
  [[nodiscard]] bool held() const;
  [[nodiscard]] std::chrono::milliseconds since_renewal() const;

  // Over any session: renews what has expired without another holder, which continues the same term. False: another holder
  // has taken over, for good.
  Result<bool> extend(Session& session);

 private:
  using Clock = std::chrono::steady_clock;
  Lease(std::string url, SessionOptions session, LeaseOptions options)
      : url_(std::move(url)), session_options_(std::move(session)), options_(std::move(options)) {}
  Result<void> take();
  Result<bool> renew();
  void keep(Worker::Turn& turn);

  const std::string url_;
  const SessionOptions session_options_;
  const LeaseOptions options_;
  std::uint64_t term_ = 0;            // constant after acquire
  std::unique_ptr<Session> session_;  // of the thread below, and of acquire before it runs

  mutable std::mutex mutex_;  // guards the next two
  Clock::time_point until_;
  bool deposed_ = false;
  Worker worker_{"lease"};  // last: uses all of the above
};

}  // namespace railweave::db::postgres
