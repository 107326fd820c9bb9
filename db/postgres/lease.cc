#include "db/postgres/lease.h"

#include <algorithm>
#include <utility>

#include "db/postgres/binary.h"

namespace railweave::db::postgres {
namespace {

constexpr const char* kTake =
    "WITH taken AS (UPDATE lease SET holder = $1::text, term = term + 1, renewed = clock_timestamp(),"
    " expires = clock_timestamp() + $2::bigint * interval '1 millisecond'"
    " WHERE id = 1 AND expires <= clock_timestamp() RETURNING term) SELECT term, pg_notify('railweave', '') FROM taken";
constexpr const char* kRenew =
    "UPDATE lease SET renewed = clock_timestamp(), expires = clock_timestamp() + $3::bigint * interval '1 millisecond'"
    " WHERE id = 1 AND holder = $1::text AND term = $2::bigint";
constexpr const char* kRelease =
    "WITH given AS (UPDATE lease SET expires = '-infinity' WHERE id = 1 AND holder = $1::text AND term = $2::bigint"
    " RETURNING 1) SELECT pg_notify('railweave', '') FROM given";

}  // namespace

Result<std::unique_ptr<Lease>> Lease::acquire(const std::string& url, const SessionOptions& session,
                                              const LeaseOptions& options) {
  std::unique_ptr<Lease> lease(new Lease(url, session, options));
  auto connected = Session::connect(url, session);
  if (!connected) return std::unexpected(connected.error());
  lease->session_ = std::move(*connected);
  const auto give_up = Clock::now() + options.patience;
  std::mutex mutex;
  std::condition_variable pause;
  while (true) {
    auto taken = lease->take();
    if (taken) break;
    if (taken.error().code != "db.locked" || Clock::now() >= give_up) return std::unexpected(taken.error());
    std::unique_lock lock(mutex);
    pause.wait_for(lock, std::chrono::milliseconds(100));
  }
  lease->thread_ = std::jthread([raw = lease.get()](const std::stop_token& stop) { raw->keep(stop); });
  return lease;
}

Result<void> Lease::take() {
  const auto before = Clock::now();
  auto taken = session_->run(kTake, {binary(options_.holder), binary(options_.length.count())}, "take the lease");
  if (!taken) return std::unexpected(taken.error());
  if (taken->empty()) {
    auto who = session_->run("SELECT holder, extract(epoch FROM expires - clock_timestamp()) FROM lease WHERE id = 1",
                             {}, "read the lease");
    const std::string holder = who && !who->empty() ? (*who)[0][0].c_str() : "another process";
    return fail(ErrorKind::conflict, "db.locked", "the store is in use by " + holder, session_->location(),
                "stop the service that has it, or name another store");
  }
  term_ = static_cast<std::uint64_t>((*taken)[0][0].as<std::int64_t>());
  const std::lock_guard lock(mutex_);
  until_ = before + options_.length;
  return {};
}

// False: another holder has taken over. From an error nothing follows.
Result<bool> Lease::renew() {
  if (session_ == nullptr || session_->lost()) {
    auto connected = Session::connect(url_, session_options_);
    if (!connected) return std::unexpected(connected.error());
    session_ = std::move(*connected);
  }
  return extend(*session_);
}

Result<bool> Lease::extend(Session& session) {
  const auto before = Clock::now();
  auto renewed = session.run(
      kRenew, {binary(options_.holder), binary(static_cast<std::int64_t>(term_)), binary(options_.length.count())},
      "renew the lease");
  if (!renewed) return std::unexpected(renewed.error());
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    if (renewed->affected_rows() != 0) {
      until_ = std::max(until_, before + options_.length);
      return true;
    }
    is_new = !std::exchange(deposed_, true);
  }
  if (is_new && options_.on_deposed) options_.on_deposed();
  return false;
}

void Lease::keep(const std::stop_token& stop) {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, options_.length / 3, [] { return false; });
    }
    if (stop.stop_requested()) return;
    if (const auto renewed = renew(); renewed && !*renewed) return;
  }
}

bool Lease::held() const {
  const std::lock_guard lock(mutex_);
  return !deposed_ && Clock::now() < until_;
}

Lease::~Lease() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  if (session_ == nullptr || session_->lost() || deposed_) return;
  (void)session_->run(kRelease, {binary(options_.holder), binary(static_cast<std::int64_t>(term_))},
                      "give the lease back");
}

}  // namespace railweave::db::postgres
