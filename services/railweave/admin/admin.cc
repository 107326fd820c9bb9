#include "services/railweave/admin/admin.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "services/railweave/admin/journal_export.h"
#include "services/railweave/admin/report_check.h"
#include "services/railweave/admin/store_name.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/json.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

constexpr const char* kStoreForm = "An SQLite file, or postgresql://user@host:5432/database";

db::StoreProgress progress_of(Session& session) {
  return [&session](std::string_view what, std::uint64_t done, std::uint64_t of) {
    std::string text = fmt::format("{} {}", what, done);
    if (of != 0) text += fmt::format(" of {}", of);
    session.output.say_progress(std::move(text));
  };
}

std::string digest_text(std::uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, digest);
  return text;
}

Json contents_json(const std::string& what, const db::StoreContents& contents) {
  return {{"store", what},
          {"firstSeq", contents.first_seq},
          {"lastSeq", contents.last_seq},
          {"records", contents.records},
          {"snapshots", contents.snapshots},
          {"documents", contents.blobs},
          {"reportRows", contents.reports},
          {"digest", digest_text(contents.digest)}};
}

std::string contents_text(const std::string& what, const db::StoreContents& contents) {
  return fmt::format("{}: records {} to {}, {} snapshots, {} documents, {} rows of reports, digest {}\n", what,
                     contents.first_seq, contents.last_seq, contents.snapshots, contents.blobs, contents.reports,
                     digest_text(contents.digest));
}

void print(Session& session, const std::string& what, const db::StoreContents& contents) {
  if (session.output.is_document()) {
    session.output.document(contents_json(what, contents));
  } else {
    session.output.text(contents_text(what, contents));
  }
}

Json findings_json(const ReportFindings& findings) {
  Json tables = Json::array();
  for (const auto& table : findings.tables) {
    tables.push_back({{"table", table.name},
                      {"asInJournal", table.rows},
                      {"changed", table.changed},
                      {"missing", table.missing},
                      {"invented", table.invented},
                      {"notComparable", table.not_comparable}});
  }
  return {{"tables", std::move(tables)}, {"first", findings.first}};
}

// "audit_trail: 1 changed, 2 missing; job_history: 1 invented", and the first ones.
std::string findings_text(const ReportFindings& findings) {
  std::string text;
  for (const auto& table : findings.tables) {
    std::string counts;
    for (const auto& [rows, what] : {std::pair<std::uint64_t, const char*>{table.changed, "changed"},
                                     {table.missing, "missing"},
                                     {table.invented, "invented"}}) {
      if (rows != 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", rows, what);
    }
    if (!counts.empty()) text += (text.empty() ? "" : "; ") + table.name + ": " + counts;
  }
  text += ". The first: ";
  for (std::size_t i = 0; i < findings.first.size(); ++i) text += (i == 0 ? "" : "; ") + findings.first[i];
  return text;
}

std::string not_comparable_text(const ReportFindings& findings) {
  if (findings.not_comparable() == 0) return "";
  return fmt::format(
      "{} rows of the reporting tables are not comparable: their events were removed from the journal.\n",
      findings.not_comparable());
}

// "N:DIGEST", as check says it; "": none.
std::optional<KnownHead> parse_head(const std::string& text) {
  if (text.empty()) return std::nullopt;
  constexpr std::size_t kDigits = 64;
  const auto colon = text.find(':');
  KnownHead head;
  head.seq = whole_number<std::uint64_t>(std::string_view(text).substr(0, colon)).value_or(0);
  if (colon == std::string::npos || head.seq == 0 || text.size() - colon - 1 != kDigits) {
    fail_usage("--head is N:DIGEST, a record's number and its digest", "as an earlier railweave admin check said it");
  }
  head.digest = text.substr(colon + 1);
  return head;
}

void check(Session& session, const StoreName& store, const std::string& head) {
  const auto known = parse_head(head);
  const auto progress = progress_of(session);
  const auto contents = value_or_fail(store.check(progress));
  const auto image = value_or_fail(store.image());
  const auto checked = value_or_fail(check_reports(*image, progress, nullptr, known));
  const std::string newest = fmt::format("{}:{}", image->extent().last_seq, checked.head);
  if (session.output.is_document()) {
    Json document = contents_json(store.text(), contents);
    document["reports"] = findings_json(checked.reports);
    document["head"] = checked.head.empty() ? Json(nullptr) : Json(newest);
    document["linkedRecords"] = checked.linked;
    session.output.document(document);
  } else {
    session.output.text(contents_text(store.text(), contents) + not_comparable_text(checked.reports));
  }
  if (checked.reports.differing() != 0) {
    session.output.flush();
    throw CommandFailure(
        {ErrorKind::internal, "db.reportsDiffer",
         "the reporting tables are not what the journal says: " + findings_text(checked.reports), store.text(),
         "find out who changed them; railweave admin rebuild-reports makes them again from the journal, "
         "which is whole, and railweave audit list --from-journal reads it"});
  }
  if (session.output.is_document()) return;
  session.output.text(
      fmt::format("Nothing is wrong: every checksum holds, no record is missing, {} records were replayed and lead to "
                  "{} of the snapshots and to the rows of the reporting tables.\n{}",
                  checked.replayed.records, checked.replayed.snapshots,
                  checked.head.empty() ? std::string()
                                       : fmt::format("Each of {} records names the one before it. Kept elsewhere, "
                                                     "--head {} shows later that none of them was changed.\n",
                                                     checked.linked, newest)));
}

// In one transaction, which is looked at again from outside.
void rebuild_reports(Session& session, const StoreName& store) {
  const auto progress = progress_of(session);
  (void)value_or_fail(store.check(progress));  // the journal is whole
  ReportFindings found;
  {
    const auto rebuild = value_or_fail(store.rebuild());
    const auto image = value_or_fail(store.image());
    found = value_or_fail(check_reports(*image, progress, rebuild.get())).reports;
    value_or_fail(rebuild->finish());
  }
  const auto image = value_or_fail(store.image());
  const auto again = value_or_fail(check_reports(*image, progress, nullptr)).reports;
  if (again.differing() != 0) {
    throw CommandFailure({ErrorKind::internal, "db.reportsDiffer",
                          "the reporting tables still are not what the journal says: " + findings_text(again),
                          store.text(), "check the disk, and that no other program writes the store"});
  }
  if (session.output.is_document()) {
    session.output.document({{"store", store.text()}, {"rebuilt", findings_json(found)}});
  } else if (found.differing() == 0) {
    session.output.text("Nothing was changed: the reporting tables are what the journal says.\n" +
                        not_comparable_text(again));
  } else {
    session.output.text("The reporting tables are what the journal says again. What was not: " + findings_text(found) +
                        "\n" + not_comparable_text(again));
  }
}

// As of one moment, then read back from where it went.
enum class Copying : unsigned char { stores, to_backup, from_backup };
void copy(Session& session, const StoreName& from, const StoreName& to, Copying what = Copying::stores) {
  const auto progress = progress_of(session);
  if (!value_or_fail(from.check_digest()) && what == Copying::from_backup) {
    session.output.note("there is no " + from.text() +
                        ".sha256 beside it: checksums of its rows are compared, its other bytes are not");
  }
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
  if (what == Copying::to_backup) value_or_fail(to.write_digest());
  print(session, to.text(), copied);
  if (session.output.is_document()) return;
  session.output.text(fmt::format(
      "Copied as of record {} and read back, the same. What a service writes to {} after that is not in it.\n",
      copied.last_seq, from.text()));
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
    command.add_option(
        "--head", stores->to,
        "N:DIGEST, as an earlier check said it: the journal must still have that record, and so all before it");
    on_run(command, session, [&session, stores] { check(session, StoreName(stores->from), stores->to); });
  }
  {
    auto stores = std::make_shared<Stores>();
    CLI::App& command = add_command(admin, "rebuild-reports",
                                    "Make the reporting tables again from the journal; no service may have the store",
                                    {"railweave admin rebuild-reports var/railweave.db",
                                     "railweave admin rebuild-reports postgresql://railweave@db.example/railweave"});
    command.add_option("STORE", stores->from, kStoreForm)->required();
    on_run(command, session, [&session, stores] { rebuild_reports(session, StoreName(stores->from)); });
  }
  {
    auto stores = std::make_shared<Stores>();
    CLI::App& command = add_command(admin, "backup", "Copy a store to a new file; a service may run",
                                    {"railweave admin backup var/railweave.db backup.db",
                                     "railweave admin backup postgresql://railweave@db.example/railweave backup.db"});
    command.add_option("STORE", stores->from, kStoreForm)->required();
    command.add_option("FILE", stores->to, "A new file, which is an SQLite store by itself")->required();
    on_run(command, session, [&session, stores] {
      copy(session, StoreName(stores->from), StoreName("sqlite:" + stores->to), Copying::to_backup);
    });
  }
  {
    auto stores = std::make_shared<Stores>();
    CLI::App& command = add_command(admin, "restore", "Fill a new or empty store from a backup",
                                    {"railweave admin restore backup.db --to var/railweave.db",
                                     "railweave admin restore backup.db --to postgresql://railweave@db.example/new"});
    command.add_option("FILE", stores->from, "What `railweave admin backup` made")->required();
    command.add_option("--to", stores->to, kStoreForm)->required();
    on_run(command, session, [&session, stores] {
      copy(session, StoreName("sqlite:" + stores->from), StoreName(stores->to), Copying::from_backup);
    });
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
