// A process for tests to kill. `db_store_child write STORE SEED` appends planned batches (planned_batch.h) until it is
// killed, and after each prints "append <last seq>", after a snapshot "snapshot <seq>". `db_store_child hold STORE`
// opens the store, prints "ready" and waits. Errors go to stderr, with exit code 1.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "db/sqlite/connection.h"
#include "db/sqlite/sqlite_journal.h"
#include "tests/unit/db/planned_batch.h"

namespace railweave::db {
namespace {

int refuse(const Error& error) {
  std::fprintf(stderr, "%s: %s\n", error.code.c_str(), error.text().c_str());
  return 1;
}

// One write(2), so that a line is in the pipe whole or not at all.
void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) std::_Exit(2);
}

int write_until_killed(Journal& journal, std::uint64_t seed) {
  auto last = journal.last_seq();
  if (!last) return refuse(last.error());
  while (true) {
    const Batch batch = planned_batch(seed, *last + 1);
    if (auto appended = journal.append(batch); !appended) return refuse(appended.error());
    *last = batch.records.back().seq;
    say("append " + std::to_string(*last));
    if (const auto snapshot = planned_snapshot(seed, *last)) {
      if (auto saved = journal.save_snapshot(*snapshot); !saved) return refuse(saved.error());
      say("snapshot " + std::to_string(*last));
    }
  }
}

int look_as_a_shell(const std::string& path) {
  {
    auto connection = sqlite::Connection::open(path, 1000);
    if (!connection) return refuse(connection.error());
    if (const auto count = connection->integer("SELECT count(*) FROM journal"); !count) return refuse(count.error());
  }
  say("closed");
  return 0;
}

int run(const std::string& mode, const std::string& path, std::uint64_t seed) {
  if (mode == "shell") return look_as_a_shell(path);
  const auto journal = open_sqlite_journal(path);
  if (!journal) return refuse(journal.error());
  if (mode == "write") return write_until_killed(**journal, seed);
  say("ready");
  while (true) ::pause();
}

}  // namespace
}  // namespace railweave::db

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return railweave::db::run(argv[1], argv[2], argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0);
}
