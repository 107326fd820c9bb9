#include "db/postgres/exclusive.h"

#include <string>

#include "db/postgres/binary.h"

namespace railweave::db::postgres {
namespace {
constexpr const char* kHolder = "railweave admin";
}

Result<Fence> take_store(Session& session) {
  const auto lease = session.run("SELECT holder, term, expires > clock_timestamp() FROM lease WHERE id = 1 FOR UPDATE",
                                 {}, "read the lease");
  if (!lease) return std::unexpected(lease.error());
  if (lease->empty() || (*lease)[0][2].as<bool>()) {
    return fail(ErrorKind::conflict, "db.locked",
                "the store is in use by " + std::string(lease->empty() ? "another process" : (*lease)[0][0].c_str()),
                session.location(), "stop the service that has it, or name another store");
  }
  const auto taken =
      session.run("UPDATE lease SET holder = $1::text, expires = clock_timestamp() + interval '1 day' WHERE id = 1",
                  {binary(kHolder)}, "take the lease");
  if (!taken) return std::unexpected(taken.error());
  Fence fence;
  fence.holder = kHolder;
  fence.term = static_cast<std::uint64_t>((*lease)[0][1].as<std::int64_t>());
  return fence;
}

Result<void> give_store_back(Session& session, std::uint64_t term) {
  const auto given = session.run("UPDATE lease SET holder = '', term = $1::bigint, expires = '-infinity' WHERE id = 1",
                                 {binary(static_cast<std::int64_t>(term))}, "give the lease back");
  if (!given) return std::unexpected(given.error());
  return {};
}

}  // namespace railweave::db::postgres
