#include "db/postgres/postgres_error.h"

#include <array>
#include <utility>

#include <fmt/core.h>

namespace railweave::db::postgres {
namespace {

struct StateMeaning {
  std::string_view prefix;  // of the SQLSTATE; the first that fits counts
  ErrorKind kind;
  const char* code;
  const char* message;
  const char* hint;
};

constexpr const char* kNoSession = "the session is not kept between transactions";
constexpr const char* kPoolerHint =
    "a pooler (PgBouncer) in transaction or statement mode is between: name PostgreSQL itself in the connection "
    "string, or a "
    "pool of mode session; a railweaved needs four connections, so that there is nothing to pool";

constexpr std::array kMeanings = std::to_array<StateMeaning>({
    {"23505", ErrorKind::conflict, "db.gap", "another writer has stored this place already",
     "read the journal up to its end and decide again"},
    {"25006", ErrorKind::unavailable, "db.readOnly", "the server is a standby or read-only",
     "name the primary, or several hosts with target_session_attrs=read-write"},
    {"28", ErrorKind::unavailable, "db.cannotConnect", "the server refuses this user",
     "check the user, its password and pg_hba.conf"},
    {"3D000", ErrorKind::notFound, "db.notThere", "the database does not exist", "create it: createdb NAME"},
    {"42501", ErrorKind::unavailable, "db.notAllowed", "this role may not do that",
     "make it the owner of the database and of what is in it (ALTER DATABASE NAME OWNER TO ROLE; REASSIGN OWNED), or, "
     "for a "
     "new store, GRANT CREATE ON SCHEMA public TO ROLE; every release may add tables, so that it is needed later too"},
    // Prepared statements that are another client's, or gone.
    {"42P05", ErrorKind::unavailable, "db.pooler", kNoSession, kPoolerHint},
    {"26000", ErrorKind::unavailable, "db.pooler", kNoSession, kPoolerHint},
    {"42P01", ErrorKind::notFound, "db.notThere", "a table of the store is not there",
     "check the search_path of the role and the name of the database, or restore the store from a backup"},
    {"53100", ErrorKind::unavailable, "db.full", "the server's disk is full; nothing was written",
     "free space where the server keeps its data"},
    {"53", ErrorKind::unavailable, "db.busy", "the server has no more connections or memory to give",
     "raise its limits, or end other sessions"},
    {"55P03", ErrorKind::unavailable, "db.busy", "another session holds a lock",
     "close sessions that lock the store's tables"},
    {"57014", ErrorKind::unavailable, "db.busy", "the server did not finish in time; nothing was written",
     "look for locks and a slow disk on the server"},
    {"40", ErrorKind::unavailable, "db.busy", "the server gave up because of another session; nothing was written", ""},
    {"22021", ErrorKind::invalid, "db.invalid", "the text is not UTF-8", ""},
    {"XX00", ErrorKind::internal, "db.damaged", "the server reports damaged data",
     "stop the service, check the server's disk and restore from a backup"},
});

}  // namespace

Error postgres_error(std::string_view sqlstate, std::string_view doing, std::string_view said, std::string location) {
  StateMeaning found{"", ErrorKind::internal, "db.postgresql", "the server refused", ""};
  for (const StateMeaning& meaning : kMeanings) {
    if (sqlstate.starts_with(meaning.prefix)) {
      found = meaning;
      break;
    }
  }
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.remove_suffix(1);
  std::string message = fmt::format("cannot {}: {} (PostgreSQL {}: ", doing, found.message, sqlstate);
  return Error{found.kind, found.code, fmt::format("{}{})", message, said), std::move(location), found.hint};
}

Error pooled_session(std::string_view why, std::string location) {
  return Error{ErrorKind::unavailable, "db.pooler", fmt::format("{}: {}", kNoSession, why), std::move(location),
               kPoolerHint};
}

Error connection_lost(std::string_view doing, std::string_view said, std::string location) {
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.remove_suffix(1);
  return Error{
      ErrorKind::unavailable, "db.connectionLost",
      fmt::format("cannot {}: the connection to the server was lost, or it did not answer in time ({})", doing, said),
      std::move(location), "check the server and the network to it; the store connects again by itself"};
}

}  // namespace railweave::db::postgres
