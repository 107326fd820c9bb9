#include "db/journal_rules.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "db/limits.h"
#include "db/utf8.h"

namespace railweave::db {
namespace {

std::unexpected<Error> invalid(std::string message, std::string location) {
  return fail(ErrorKind::invalid, "db.invalid", std::move(message), std::move(location));
}

std::unexpected<Error> too_large(std::string what, std::size_t size, std::size_t limit, std::string location) {
  return fail(ErrorKind::tooLarge, "db.tooLarge",
              what + " is " + std::to_string(size) + ", more than the limit of " + std::to_string(limit),
              std::move(location));
}

struct Text {
  const char* what;
  std::string_view text;
  std::size_t limit;
};

Result<void> check_texts(std::initializer_list<Text> texts, const std::string& location) {
  for (const auto& [what, text, limit] : texts) {
    if (text.size() > limit)
      return too_large(std::string("the length in bytes of ") + what, text.size(), limit, location);
    if (!is_storable_text(text)) {
      return invalid(std::string(what) + " is not UTF-8 text without NUL, which is all a store keeps", location);
    }
  }
  return {};
}

Result<void> check_numbers(std::uint64_t seq, std::uint64_t term, const std::string& location) {
  if (seq > kMaxSeq) return invalid("seq is larger than 2^63-1", location);
  if (term > kMaxSeq) return invalid("term is larger than 2^63-1", location);
  return {};
}

Result<void> check_record(const Record& record) {
  const std::string location = "record " + std::to_string(record.seq);
  if (record.seq == 0) return invalid("seq is 0: the first record is 1", location);
  if (record.kind.empty()) return invalid("kind is empty", location);
  if (auto checked = check_numbers(record.seq, record.term, location); !checked) return checked;
  return check_texts({{"actor", record.actor, kMaxNameBytes},
                      {"kind", record.kind, kMaxNameBytes},
                      {"subject_kind", record.subject_kind, kMaxNameBytes},
                      {"subject_id", record.subject_id, kMaxNameBytes},
                      {"payload", record.payload, kMaxPayloadBytes}},
                     location);
}

Result<void> check_records(const std::vector<Record>& records) {
  if (records.size() > kMaxBatchRecords) {
    return too_large("the number of records in a batch", records.size(), kMaxBatchRecords, {});
  }
  std::size_t bytes = 0;
  for (const Record& record : records) {
    if (auto checked = check_record(record); !checked) return checked;
    bytes += record.payload.size();
  }
  if (bytes > kMaxBatchBytes) return too_large("the sum of a batch's payloads in bytes", bytes, kMaxBatchBytes, {});
  if (records.empty()) return {};
  return check_continues(records, records.front().seq - 1, records.front().term);
}

Result<void> check_blob(const Blob& blob) {
  if (!is_digest(blob.digest)) {
    return invalid("a blob's digest is 64 lower-case hexadecimal digits", "blob \"" + blob.digest.substr(0, 80) + "\"");
  }
  if (blob.bytes.size() > kMaxBlobBytes) {
    return too_large("the length in bytes", blob.bytes.size(), kMaxBlobBytes, "blob " + blob.digest);
  }
  return {};
}

}  // namespace

bool is_digest(std::string_view digest) {
  return digest.size() == 64 &&
         std::ranges::all_of(digest, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<void> check_batch(const Batch& batch) {
  if (auto checked = check_records(batch.records); !checked) return checked;
  if (batch.blobs.size() > kMaxBatchBlobs) {
    return too_large("the number of blobs in a batch", batch.blobs.size(), kMaxBatchBlobs, {});
  }
  for (const Blob& blob : batch.blobs) {
    if (auto checked = check_blob(blob); !checked) return checked;
  }
  if (batch.reports.size() > kMaxBatchReports) {
    return too_large("the number of report rows in a batch", batch.reports.size(), kMaxBatchReports, {});
  }
  return {};
}

Result<void> check_continues(const std::vector<Record>& records, std::uint64_t last_seq, std::uint64_t last_term) {
  for (const Record& record : records) {
    if (record.seq != last_seq + 1) {
      return fail(ErrorKind::conflict, "db.gap",
                  "record " + std::to_string(record.seq) + " does not continue the journal, which ends at " +
                      std::to_string(last_seq),
                  "record " + std::to_string(record.seq), "read the journal up to its end and decide again");
    }
    if (record.term < last_term) {
      return fail(
          ErrorKind::conflict, "db.termBehind",
          "term " + std::to_string(record.term) + " has ended: the journal is at term " + std::to_string(last_term),
          "record " + std::to_string(record.seq), "another leader has taken over; stop writing");
    }
    last_seq = record.seq;
    last_term = record.term;
  }
  return {};
}

Result<void> check_snapshot(const Snapshot& snapshot) {
  const std::string location = "snapshot " + std::to_string(snapshot.seq);
  if (auto checked = check_numbers(snapshot.seq, snapshot.term, location); !checked) return checked;
  return check_texts({{"payload", snapshot.payload, kMaxSnapshotBytes}}, location);
}

Result<void> check_filter(const ReadFilter& filter) {
  if (filter.limit == 0) return invalid("a read needs a limit of at least 1", "limit");
  if (filter.kinds.size() > kMaxReadKinds) {
    return too_large("the number of kinds to read", filter.kinds.size(), kMaxReadKinds, "kinds");
  }
  if (!filter.subject_id.empty() && filter.subject_kind.empty()) {
    return invalid("subject_id is given without subject_kind", "subject_id");
  }
  return {};
}

Result<void> check_complete(const ReadFilter& filter, const std::vector<Record>& records, bool cut_short,
                            std::uint64_t last_seq) {
  std::uint64_t expected = filter.after_seq;
  const auto missing = [&] {
    return fail(ErrorKind::internal, "db.damaged",
                "record " + std::to_string(expected) + " is missing from the journal", {},
                "stop the service and restore the store from a backup");
  };
  for (const Record& record : records) {
    ++expected;
    if (record.seq != expected) return missing();
  }
  if (!cut_short && expected < std::min(filter.up_to_seq, last_seq)) {
    ++expected;
    return missing();
  }
  return {};
}

Result<void> check_not_cut(std::uint64_t last_seq, const std::vector<std::uint64_t>& snapshots,
                           const std::string& location) {
  if (snapshots.empty() || snapshots.front() <= last_seq) return {};
  return fail(ErrorKind::internal, "db.damaged",
              "the journal ends at record " + std::to_string(last_seq) + ", but there is a snapshot of record " +
                  std::to_string(snapshots.front()) + ": records are lost",
              location, "check the disk and restore the store from a backup");
}

}  // namespace railweave::db
