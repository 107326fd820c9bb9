#include "db/postgres/doubt.h"

#include <condition_variable>
#include <mutex>
#include <string>

#include "db/postgres/binary.h"

namespace railweave::db::postgres {
namespace {

using Clock = std::chrono::steady_clock;

std::unexpected<Error> in_doubt(const std::string& why, const std::string& location) {
  return fail(ErrorKind::unavailable, "db.inDoubt", "it is not known whether the last batch was stored: " + why,
              location, "check the server; the store goes on once it is known");
}

void pause() {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::milliseconds(20));
}

// Ends the old session where this server has it. Another server, or the same one started again, has none of its sessions.
Result<void> end_old_session(Session& session, const Backend& old, Clock::time_point give_up) {
  if (session.backend().server != old.server) return {};
  while (true) {
    auto left = session.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1::bigint AND backend_start::text = "
        "$2::text",
        {binary(old.process), binary(old.started)}, "end the lost session");
    if (!left) return std::unexpected(left.error());
    if (left->empty()) return {};
    if (Clock::now() >= give_up) return in_doubt("the lost session does not end", session.location());
    pause();
  }
}

// Ending a session that waits for its standby makes its commit visible without one.
Result<void> wait_for_standby(Session& session, Clock::time_point give_up) {
  auto position = session.run("SELECT pg_current_wal_flush_lsn()::text, current_setting('synchronous_standby_names')",
                              {}, "read the server's position");
  if (!position) return std::unexpected(position.error());
  if ((*position)[0][1].size() == 0) return {};
  const std::string reached((*position)[0][0].c_str());
  while (true) {
    auto there = session.run(
        "SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum') AND flush_lsn >= "
        "($1::text)::pg_lsn",
        {binary(reached)}, "read the standbys' positions");
    if (!there) return std::unexpected(there.error());
    if ((*there)[0][0].as<std::int64_t>() > 0) return {};
    if (Clock::now() >= give_up) return in_doubt("no synchronous standby has it", session.location());
    pause();
  }
}

}  // namespace

Result<bool> is_stored(Session& session, const Doubt& doubt, std::chrono::milliseconds patience) {
  const auto give_up = Clock::now() + patience;
  if (auto ended = end_old_session(session, doubt.backend, give_up); !ended) return std::unexpected(ended.error());
  auto found =
      session.run("SELECT 1 FROM journal WHERE seq = $1::bigint AND nonce = $2::bigint",
                  {binary(static_cast<std::int64_t>(doubt.last_seq)), binary(doubt.nonce)}, "look for the last batch");
  if (!found) return std::unexpected(found.error());
  if (found->empty()) return false;
  if (auto waited = wait_for_standby(session, give_up); !waited) return std::unexpected(waited.error());
  return true;
}

}  // namespace railweave::db::postgres
