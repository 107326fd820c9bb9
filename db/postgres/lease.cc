#include "db/postgres/lease.h"

#include <algorithm>
#include <thread>
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
  constexpr std::chrono::milliseconds kPause{100};
  while (true) {
    auto taken = lease->take();
    if (taken) break;
    if (taken.error().code != "db.locked" || Clock::now() >= give_up) return std::unexpected(taken.error());
    std::this_thread::sleep_for(kPause);
  }
  lease->worker_.start([raw = lease.get()](Worker::Turn& turn) { raw->keep(turn); });
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
  options_.log.info("the lease is taken by {}, term {}, for {} ms", options_.holder, term_, options_.length.count());
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
  if (is_new) options_.log.warn("the lease of term {} is lost: another has taken over", term_);
  if (is_new && options_.on_deposed) options_.on_deposed();
  return false;
}

void Lease::keep(Worker::Turn& turn) {
  bool fails = false;  // told once
  while (turn.rest(options_.length / 3)) {
    const auto renewed = renew();
    if (renewed && !*renewed) return;
    if (!renewed && !fails) options_.log.warn("the lease is not renewed: {}", renewed.error().text());
    if (renewed && fails) options_.log.info("the lease is renewed again");
    fails = !renewed;
    if (renewed) options_.log.trace("the lease of term {} is renewed", term_);
  }
}

bool Lease::held() const {
  const std::lock_guard lock(mutex_);
  return !deposed_ && Clock::now() < until_;
}

std::chrono::milliseconds Lease::since_renewal() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - (until_ - options_.length));
}

Lease::~Lease() {
  if (term_ == 0) return;  // it was not acquired
  worker_.stop();
  if (session_ == nullptr || session_->lost() || deposed_) return;
  (void)session_->run(kRelease, {binary(options_.holder), binary(static_cast<std::int64_t>(term_))},
                      "give the lease back");
}

}  // namespace railweave::db::postgres
