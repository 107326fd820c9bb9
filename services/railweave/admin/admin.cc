#include "services/railweave/admin/admin.h"

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>

#include "services/railweave/admin/journal_export.h"
#include "services/railweave/admin/snapshot_replay.h"
#include "services/railweave/admin/store_name.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

constexpr const char* kStoreForm = "An SQLite file, or postgresql://user@host:5432/database";

db::StoreProgress progress_of(Session& session) {
  return [&session](std::string_view what, std::uint64_t done, std::uint64_t of) {
    std::string text = std::string(what) + " " + std::to_string(done);
    if (of != 0) text += " of " + std::to_string(of);
    session.output.say_progress(std::move(text));
  };
}

std::string digest_text(std::uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, digest);
  return text;
}

void print(Session& session, const std::string& what, const db::StoreContents& contents) {
  if (session.output.is_document()) {
    session.output.document({{"store", what},
                             {"firstSeq", contents.first_seq},
                             {"lastSeq", contents.last_seq},
                             {"records", contents.records},
                             {"snapshots", contents.snapshots},
                             {"documents", contents.blobs},
                             {"reportRows", contents.reports},
                             {"digest", digest_text(contents.digest)}});
    return;
  }
  session.output.text(what + ": records " + std::to_string(contents.first_seq) + " to " +
                      std::to_string(contents.last_seq) + ", " + std::to_string(contents.snapshots) + " snapshots, " +
                      std::to_string(contents.blobs) + " documents, " + std::to_string(contents.reports) +
                      " rows of reports, digest " + digest_text(contents.digest) + "\n");
}

void check(Session& session, const StoreName& store) {
  const auto progress = progress_of(session);
  const auto contents = value_or_fail(store.check(progress));
  const auto image = value_or_fail(store.image());
  const auto replayed = value_or_fail(replay_store(*image, progress));
  print(session, store.text(), contents);
  if (session.output.is_document()) return;
  session.output.text("Nothing is wrong: every checksum holds, no record is missing, " +
                      std::to_string(replayed.records) + " records were replayed and lead to " +
                      std::to_string(replayed.snapshots) + " of the snapshots.\n");
}

// As of one moment, then read back from where it went.
void copy(Session& session, const StoreName& from, const StoreName& to) {
  const auto progress = progress_of(session);
  const auto image = value_or_fail(from.image());
  const auto import = value_or_fail(to.import());
  const auto copied = value_or_fail(db::copy_store(*image, *import, progress));
  const auto back = value_or_fail(to.image());
  const auto read = value_or_fail(db::read_store(*back, progress));
  if (read != copied) {
    throw CommandFailure({ErrorKind::internal, "db.copyDiffers",
                          "what was read back (digest " + digest_text(read.digest) +
                              ") is not what was copied (digest " + digest_text(copied.digest) + ")",
                          to.text(), "do not use it; check the disk, and copy again to another place"});
  }
  print(session, to.text(), copied);
  if (session.output.is_document()) return;
  session.output.text("Copied as of record " + std::to_string(copied.last_seq) +
                      " and read back, the same. What a service writes to " + from.text() +
                      " after that is not in it.\n");
}

}  // namespace

void add_admin_commands(CLI::App& root, Session& session) {
  CLI::App& admin = add_noun(root, "admin", "Stores themselves: examine, export, back up, restore, copy", "Offline");
  struct Stores {
    std::string from, to;
  };
  {
    auto stores = std::make_shared<Stores>();
    CLI::App& command = add_command(admin, "check", "Read everything in a store and replay it; a service may run",
                                    {"railweave admin check var/railweave.db",
                                     "railweave admin check postgresql://railweave@db.example/railweave"});
    command.add_option("STORE", stores->from, kStoreForm)->required();
    on_run(command, session, [&session, stores] { check(session, StoreName(stores->from)); });
  }
  {
    auto stores = std::make_shared<Stores>();
    CLI::App& command = add_command(admin, "backup", "Copy a store to a new file; a service may run",
                                    {"railweave admin backup var/railweave.db backup.db",
                                     "railweave admin backup postgresql://railweave@db.example/railweave backup.db"});
    command.add_option("STORE", stores->from, kStoreForm)->required();
    command.add_option("FILE", stores->to, "A new file, which is an SQLite store by itself")->required();
    on_run(command, session,
           [&session, stores] { copy(session, StoreName(stores->from), StoreName("sqlite:" + stores->to)); });
  }
  {
    auto stores = std::make_shared<Stores>();
    CLI::App& command = add_command(admin, "restore", "Fill a new or empty store from a backup",
                                    {"railweave admin restore backup.db --to var/railweave.db",
                                     "railweave admin restore backup.db --to postgresql://railweave@db.example/new"});
    command.add_option("FILE", stores->from, "What `railweave admin backup` made")->required();
    command.add_option("--to", stores->to, kStoreForm)->required();
    on_run(command, session,
           [&session, stores] { copy(session, StoreName("sqlite:" + stores->from), StoreName(stores->to)); });
  }
  {
    auto stores = std::make_shared<Stores>();
    CLI::App& command =
        add_command(admin, "export", "Write the journal as text, for railweave-verify; a service may run",
                    {"railweave admin export var/railweave.db -O journal.jsonl",
                     "railweave-verify fabric.json tables.txt certificate.json --journal journal.jsonl"});
    command.add_option("STORE", stores->from, kStoreForm)->required();
    add_output_file_option(command, stores->to);
    on_run(command, session, [&session, stores] {
      const auto image = value_or_fail(StoreName(stores->from).image());
      write_file_or_stdout(session.output, stores->to, value_or_fail(export_journal(*image, progress_of(session))));
    });
  }
  auto stores = std::make_shared<Stores>();
  CLI::App& command = add_command(
      admin, "copy", "Copy a store into a new or empty one of either kind; a service may run on the source",
      {"railweave admin copy --from sqlite:var/railweave.db --to postgresql://railweave@db.example/railweave"});
  command.add_option("--from", stores->from, kStoreForm)->required();
  command.add_option("--to", stores->to, kStoreForm)->required();
  on_run(command, session, [&session, stores] { copy(session, StoreName(stores->from), StoreName(stores->to)); });
}

}  // namespace railweave::cli
