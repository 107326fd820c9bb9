#include "db/postgres/session.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "db/postgres/postgres_error.h"
#include "db/postgres/servers.h"

namespace railweave::db::postgres {
namespace {

bool names(const std::string& url, std::string_view option) { return url.find(option) != std::string::npos; }

// libpq's own limits, unless the operator gave others.
std::string with_limits(const std::string& url, const SessionOptions& options) {
  const bool is_uri = url.starts_with("postgresql://") || url.starts_with("postgres://");
  std::string text = url;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (names(url, name + "=")) return;
    const char* before = !is_uri ? " " : text.find('?') == std::string::npos ? "?" : "&";
    text += before + name + "=" + value;
  };
  const auto seconds = std::max<std::int64_t>(2, options.connect_patience.count() / 1000);
  add("connect_timeout", std::to_string(seconds));
  // A connection that a firewall forgot ends after this long, whether something is being sent or waited for.
  const auto network_s = std::max<std::int64_t>(2, options.network_patience.count() / 1000);
  add("tcp_user_timeout", std::to_string(network_s * 1000));
  add("keepalives_idle", std::to_string(network_s - 1));
  add("keepalives_interval", "1");
  add("keepalives_count", "2");
  add("application_name", "railweaved");
  add("target_session_attrs", "read-write");
  return text;
}

}  // namespace

std::string redacted(const std::string& url) {
  std::string text = url;
  const auto scheme = text.find("://");
  if (scheme != std::string::npos) {
    const auto at = text.find('@', scheme);
    const auto colon = text.find(':', scheme + 3);
    if (at != std::string::npos && colon != std::string::npos && colon < at)
      text.replace(colon + 1, at - colon - 1, "***");
  }
  for (auto from = text.find("password="); from != std::string::npos; from = text.find("password=", from)) {
    from += std::string_view("password=").size();
    const auto end = text.find_first_of("& ", from);
    text.replace(from, (end == std::string::npos ? text.size() : end) - from, "***");
  }
  return text;
}

// Counts what arrives on its channel.
class Session::Listener : public pqxx::notification_receiver {
 public:
  Listener(pqxx::connection_base& connection, const std::string& channel)
      : pqxx::notification_receiver(connection, channel) {}
  void operator()(const std::string& /*payload*/, int /*backend*/) override { ++arrived; }
  std::size_t arrived = 0;
};

Session::Session(const std::string& url, const SessionOptions& options)
    : url_(url), options_(options), location_(redacted(url)) {}

Session::~Session() = default;

namespace {

// libpqxx leaves the state out of some of its exceptions: these say it by their type.
std::string state_of(const pqxx::sql_error& error) {
  if (!error.sqlstate().empty()) return error.sqlstate();
  const auto is = [&]<class Type>(std::type_identity<Type>) { return dynamic_cast<const Type*>(&error) != nullptr; };
  if (is(std::type_identity<pqxx::insufficient_privilege>())) return "42501";
  if (is(std::type_identity<pqxx::undefined_table>())) return "42P01";
  if (is(std::type_identity<pqxx::undefined_column>())) return "42703";
  if (is(std::type_identity<pqxx::undefined_function>())) return "42883";
  if (is(std::type_identity<pqxx::syntax_error>())) return "42601";
  if (is(std::type_identity<pqxx::disk_full>())) return "53100";
  if (is(std::type_identity<pqxx::out_of_memory>())) return "53200";
  if (is(std::type_identity<pqxx::insufficient_resources>())) return "53000";
  return "";
}

}  // namespace

template <class Work>
auto Session::guarded(std::string_view doing, Work work) -> Result<decltype(work())> {
  if (lost_) return std::unexpected(connection_lost(doing, "it was lost before", location_));
  const auto is_lost = [&](const std::exception& error) {
    lost_ = true;
    return std::unexpected(connection_lost(doing, error.what(), location_));
  };
  try {
    const Watchdog::Guard guard(watchdog_, connection_->sock(), options_.statement_patience);
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return {};
    } else {
      return work();
    }
  } catch (const pqxx::broken_connection& error) {
    return is_lost(error);
  } catch (const pqxx::in_doubt_error& error) {
    return is_lost(error);
  } catch (const pqxx::sql_error& error) {
    // Class 08: connection; 57P: the server is being shut down; none: libpq itself found the connection broken.
    const std::string state = state_of(error);
    if (state.empty() || state.starts_with("08") || state.starts_with("57P") || !connection_->is_open())
      return is_lost(error);
    return std::unexpected(postgres_error(state, doing, error.what(), location_));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    if (connection_ == nullptr || !connection_->is_open()) return is_lost(error);
    return std::unexpected(postgres_error("", doing, error.what(), location_));
  }
}

Result<std::unique_ptr<Session>> Session::connect(const std::string& url, const SessionOptions& options) {
  const auto servers = servers_of(url);
  if (!servers) return std::unexpected(servers.error());
  SessionOptions limits = options;
  // One that is cut off must not keep the others waiting.
  if (servers->size() > 1)
    limits.connect_patience = std::min(limits.connect_patience, std::chrono::milliseconds(2'000));
  std::unique_ptr<Session> newest;
  std::optional<Error> refusal;
  for (const auto& server : *servers) {
    auto session = connect_to(server, limits);
    if (!session) {
      if (!refusal || refusal->code == "db.readOnly") refusal = session.error();
    } else if (newest == nullptr || (*session)->timeline_ > newest->timeline_) {
      newest = std::move(*session);
    }
  }
  if (newest == nullptr) return std::unexpected(*refusal);
  if (options.newest_timeline == nullptr) return newest;
  std::int64_t seen = options.newest_timeline->load();
  while (seen < newest->timeline_ && !options.newest_timeline->compare_exchange_weak(seen, newest->timeline_)) {
  }
  if (seen <= newest->timeline_) return newest;
  return fail(
      ErrorKind::unavailable, "db.oldPrimary",
      fmt::format("the server was failed over from: its timeline is {}, one of {} was in use", newest->timeline_, seen),
      newest->location_, "stop it, and make it a standby of the new primary");
}

Result<std::unique_ptr<Session>> Session::connect_to(const std::string& url, const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session(url, options));
  try {
    session->connection_ = std::make_unique<pqxx::connection>(with_limits(url, options));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    std::string said = error.what();
    while (!said.empty() && said.back() == '\n') said.pop_back();
    const bool standby =
        said.find("session is read-only") != std::string::npos || said.find("read-write") != std::string::npos;
    return fail(ErrorKind::unavailable, standby ? "db.readOnly" : "db.cannotConnect",
                "cannot connect to PostgreSQL: " + said, redacted(url),
                standby ? "name the primary" : "check that the server runs and the connection string");
  }
  if (auto introduced = session->introduce(); !introduced) return std::unexpected(introduced.error());
  return session;
}

Result<void> Session::introduce() {
  const char* host = connection_->hostname();
  location_ = fmt::format("{}:{}/{}", host != nullptr ? host : "local", connection_->port(), connection_->dbname());
  const auto server_patience = std::max<std::int64_t>(500, options_.statement_patience.count() - 1'000);
  const std::string limit = std::to_string(server_patience);
  auto set = execute("SET client_encoding = 'UTF8'; SET statement_timeout = " + limit +
                         "; SET lock_timeout = " + limit + "; SET idle_in_transaction_session_timeout = " + limit +
                         "; SET default_transaction_isolation = 'read committed'; SET bytea_output = 'hex'"
                         "; SET extra_float_digits = 3; SET client_min_messages = 'error'",
                     "configure the session");
  if (!set) return set;
  if (options_.appends) {
    if (auto planned = execute("SET plan_cache_mode = force_generic_plan", "configure the session"); !planned)
      return planned;
  }
  auto who = run(
      "SELECT pg_backend_pid(), (SELECT backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()),"
      " pg_postmaster_start_time()::text, current_setting('server_encoding'), current_setting('synchronous_commit'),"
      " ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint",
      {}, "identify the session");
  if (!who) return std::unexpected(who.error());
  const auto row = (*who)[0];
  if (auto own = check_own_backend(row[0].as<std::int64_t>()); !own) return own;
  backend_ = {row[0].as<std::int64_t>(), row[1].is_null() ? "" : row[1].c_str(), row[2].c_str()};
  timeline_ = row[5].as<std::int64_t>();
  if (std::string_view(row[3].c_str()) != "UTF8") {
    return fail(ErrorKind::invalid, "db.encoding",
                fmt::format("the database's encoding is {}, not UTF8", row[3].c_str()), location_,
                "create it with ENCODING 'UTF8' and TEMPLATE template0");
  }
  // A commit that is acknowledged before it is durable would break every promise of the journal.
  const std::string_view commit = row[4].c_str();
  if (commit == "off" || commit == "local") return execute("SET synchronous_commit = on", "configure the session");
  return {};
}

// A pooler gives its clients process numbers of its own making. One that keeps a server's session for each client does no harm;
// one that gives it to another client after each transaction takes away what sessions are used for.
Result<void> Session::check_own_backend(std::int64_t process) {
  if (connection_->backendpid() == process) return {};
  // Another client's transaction has its own server while this session is kept for this client.
  try {
    pqxx::connection other(with_limits(url_, options_));
    pqxx::nontransaction alone(other);
    const auto found = alone.exec("SELECT pg_backend_pid()");
    if (found[0][0].as<std::int64_t>() == process) {
      return std::unexpected(pooled_session("two connections were served by one session in turn", location_));
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return {};  // no more connections: what cannot be told here is told by the first statement that fails
  }
  return {};
}

const std::string& Session::prepared(const std::string& sql) {
  if (const auto found = statements_.find(sql); found != statements_.end()) return found->second;
  if (statements_.size() >= kMaxStatements) {
    for (const auto& [text, name] : statements_) connection_->unprepare(name);
    statements_.clear();
  }
  const std::string name = fmt::format("s{}", ++statements_made_);
  connection_->prepare(name, sql);
  return statements_.emplace(sql, name).first->second;
}

Result<pqxx::result> Session::run(const std::string& sql, const std::vector<std::string>& parameters,
                                  std::string_view doing) {
  return guarded(doing, [&] {
    std::vector<pqxx::binarystring> values;
    values.reserve(parameters.size());
    for (const std::string& parameter : parameters) values.emplace_back(parameter.data(), parameter.size());
    const std::string& name = prepared(sql);
    const auto bound = pqxx::prepare::make_dynamic_params(values);
    if (transaction_ != nullptr) return transaction_->exec_prepared(name, bound);
    pqxx::nontransaction alone(*connection_);
    return alone.exec_prepared(name, bound);
  });
}

Result<void> Session::execute(const std::string& sql, std::string_view doing) {
  return guarded(doing, [&] {
    if (transaction_ != nullptr) {
      transaction_->exec(sql);
    } else {
      pqxx::nontransaction(*connection_).exec(sql);
    }
  });
}

Result<bool> Session::wait_for_notification(const std::string& channel, std::chrono::milliseconds at_most) {
  return guarded("wait for news", [&] {
    if (listener_ == nullptr) {
      listener_ = std::make_unique<Listener>(*connection_, channel);
      return true;  // of what was sent before, nothing is known
    }
    const std::size_t before = listener_->arrived;
    connection_->await_notification(static_cast<long>(at_most.count() / 1000),
                                    static_cast<long>(at_most.count() % 1000 * 1000));
    return listener_->arrived != before;
  });
}

Result<void> Session::in_transaction(const std::function<Result<void>()>& steps, std::string_view doing) {
  std::unique_ptr<pqxx::work> work;
  auto begun = guarded("begin a transaction", [&] { work = std::make_unique<pqxx::work>(*connection_); });
  if (!begun) return begun;
  transaction_ = work.get();
  Result<void> done = steps();
  transaction_ = nullptr;
  // Rolling back, too, waits for the server.
  if (done) done = guarded(doing, [&] { work->commit(); });
  if (auto ended = guarded(doing, [&] { work.reset(); }); done && !ended) return ended;
  return done;
}

}  // namespace railweave::db::postgres
