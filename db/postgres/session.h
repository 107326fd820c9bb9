// One session with PostgreSQL: a connection, its prepared statements and the patience with its server. It never connects
// again by itself (libpqxx would): what the session held, such as the identity of its backend, would silently be another's.
// Once lost() it is thrown away.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pqxx/pqxx>

#include "db/postgres/watchdog.h"
#include "fabric/base/error.h"

namespace railweave::db::postgres {

// A server's timeline: one more whenever a standby is promoted. A primary that was failed over from and started again is writable,
// and has an older one.
using Timeline = std::atomic<std::int64_t>;

struct SessionOptions {
  std::chrono::milliseconds connect_patience{5'000};
  std::chrono::milliseconds statement_patience{10'000};  // client side; the server gives up a second earlier
  std::chrono::milliseconds network_patience{10'000};    // with a peer that acknowledges no packets
  bool appends = false;                       // its statements are planned once, whatever their parameters are
  std::shared_ptr<Timeline> newest_timeline;  // that this process has seen: no session has an older one; null: any may
};

// Which server process served a session: what a commit in doubt is left with.
struct Backend {
  std::int64_t process = 0;
  std::string started;  // backend_start as the server prints it: process ids come again
  std::string server;   // when the server itself started
};

// Not thread-safe: its owner guards it.
class Session {
 public:
  // `url`: postgresql://user@host:port/database?... or "host=... dbname=..."; of several hosts the
  // one that can be written is taken, and of several such the one with the newest timeline. Errors: db.cannotConnect,
  // db.readOnly (only a standby answers), db.oldPrimary, db.encoding, db.pooler (sessions are not kept).
  static Result<std::unique_ptr<Session>> connect(const std::string& url, const SessionOptions& options);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Prepared once and kept. Parameters are in the binary format (binary.h) of the types that the statement casts them to.
  // Inside in_transaction it is part of that; else a transaction of its own. `doing` goes into the error.
  Result<pqxx::result> run(const std::string& sql, const std::vector<std::string>& parameters, std::string_view doing);
  // Any number of statements without parameters.
  Result<void> execute(const std::string& sql, std::string_view doing);
  // Waits for NOTIFY on that channel, which the first call begins to listen to. False: none came in time.
  Result<bool> wait_for_notification(const std::string& channel, std::chrono::milliseconds at_most);
  // Committed when `steps` and this return without an error.
  Result<void> in_transaction(const std::function<Result<void>()>& steps, std::string_view doing);

  // The connection is gone, or the server did not answer in time: what was under way may have been done or not.
  [[nodiscard]] bool lost() const { return lost_; }
  [[nodiscard]] const Backend& backend() const { return backend_; }
  [[nodiscard]] const std::string& location() const { return location_; }  // host:port/database

 private:
  class Listener;
  static constexpr std::size_t kMaxStatements = 256;

  Session(const std::string& url, const SessionOptions& options);
  template <class Work>
  auto guarded(std::string_view doing, Work work) -> Result<decltype(work())>;
  static Result<std::unique_ptr<Session>> connect_to(const std::string& url, const SessionOptions& options);
  Result<void> introduce();
  Result<void> check_own_backend(std::int64_t process);
  const std::string& prepared(const std::string& sql);

  const std::string url_;
  SessionOptions options_;
  std::string location_;
  std::unique_ptr<pqxx::connection> connection_;
  std::unique_ptr<Listener> listener_;
  pqxx::transaction_base* transaction_ = nullptr;               // of in_transaction
  std::map<std::string, std::string, std::less<>> statements_;  // text -> name
  std::uint64_t statements_made_ = 0;
  Backend backend_;
  std::int64_t timeline_ = 0;
  bool lost_ = false;
  Watchdog watchdog_;  // last: it may touch the socket
};

// The connection string without its password.
std::string redacted(const std::string& url);

}  // namespace railweave::db::postgres
