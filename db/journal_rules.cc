#include "db/journal_rules.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "db/limits.h"
#include "db/utf8.h"

namespace railweave::db {
namespace {

std::unexpected<Error> invalid(std::string message, std::string location) {
  return fail(ErrorKind::invalid, "db.invalid", std::move(message), std::move(location));
}

std::unexpected<Error> too_large(const std::string& what, std::size_t size, std::size_t limit, std::string location) {
  return fail(ErrorKind::tooLarge, "db.tooLarge", fmt::format("{} is {}, more than the limit of {}", what, size, limit),
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
  const std::string location = fmt::format("record {}", record.seq);
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
                  fmt::format("record {} does not continue the journal, which ends at {}", record.seq, last_seq),
                  fmt::format("record {}", record.seq), "read the journal up to its end and decide again");
    }
    if (record.term < last_term) {
      return fail(ErrorKind::conflict, "db.termBehind",
                  fmt::format("term {} has ended: the journal is at term {}", record.term, last_term),
                  fmt::format("record {}", record.seq), "another leader has taken over; stop writing");
    }
    last_seq = record.seq;
    last_term = record.term;
  }
  return {};
}

Result<void> check_snapshot(const Snapshot& snapshot) {
  const std::string location = fmt::format("snapshot {}", snapshot.seq);
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
    return fail(ErrorKind::internal, "db.damaged", fmt::format("record {} is missing from the journal", expected), {},
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

namespace {

// Collects what a read with_damaged answers.
class RecordList {
 public:
  RecordList(const ReadFilter& filter, std::uint64_t floor, const FetchOne& fetch_one)
      : limit_(std::min(filter.limit, kMaxReadRecords)), floor_(floor), fetch_one_(fetch_one) {}

  [[nodiscard]] bool empty() const { return records_.empty(); }
  [[nodiscard]] bool full() const { return records_.size() >= limit_; }
  void add(Record&& record) { records_.push_back(std::move(record)); }
  void add_damaged(std::uint64_t seq) {
    records_.push_back({seq, 0, time_before(seq), "", kDamagedKind, 1, "event", std::to_string(seq), "", true});
  }
  [[nodiscard]] std::vector<Record> take() && { return std::move(records_); }

 private:
  // Of the nearest one before that can be read, whether this read answers it or not: the same on every page and by every filter.
  [[nodiscard]] std::int64_t time_before(std::uint64_t seq) const {
    constexpr std::uint64_t kMaxBack = 1000;
    if (!records_.empty() && records_.back().seq == seq - 1) return records_.back().time_us;
    for (std::uint64_t before = seq - 1; before > floor_ && seq - before <= kMaxBack; --before) {
      auto stored = fetch_one_(before);
      if (!stored || !*stored) continue;
      if (const auto record = unpack(std::move(**stored))) return record->time_us;
    }
    return 0;
  }

  const std::size_t limit_;
  const std::uint64_t floor_;
  const FetchOne& fetch_one_;
  std::vector<Record> records_;
};

bool matches(const ReadFilter& filter, const Record& record) {
  return (filter.kinds.empty() || std::ranges::find(filter.kinds, record.kind) != filter.kinds.end()) &&
         (filter.subject_kind.empty() || record.subject_kind == filter.subject_kind) &&
         (filter.subject_id.empty() || record.subject_id == filter.subject_id);
}

bool is_whole(const ReadFilter& filter) { return filter.kinds.empty() && filter.subject_kind.empty(); }

Result<std::vector<Record>> with_damaged(const ReadFilter& filter, std::vector<StoredRecord>&& stored, bool cut_short,
                                         std::uint64_t floor, std::uint64_t last_seq, const FetchOne& fetch_one) {
  RecordList list(filter, floor, fetch_one);
  std::uint64_t expected = std::max(filter.after_seq, floor);
  for (auto& each : stored) {
    const std::uint64_t seq = each.record.seq;
    while (is_whole(filter) && ++expected < seq && !list.full()) list.add_damaged(expected);
    if (list.full()) return std::move(list).take();
    auto record = unpack(std::move(each));
    if (record) {
      list.add(std::move(*record));
    } else if (record.error().code == "db.damaged") {
      list.add_damaged(seq);
    } else {
      return std::unexpected(record.error());
    }
  }
  if (cut_short || !is_whole(filter)) return std::move(list).take();
  const std::uint64_t end = std::min(filter.up_to_seq, last_seq);
  while (++expected <= end && !list.full()) list.add_damaged(expected);
  return std::move(list).take();
}

}  // namespace

Result<std::vector<Record>> unpack_records(const ReadFilter& filter, std::vector<StoredRecord>&& stored, bool cut_short,
                                           std::uint64_t floor, std::uint64_t last_seq, const FetchOne& fetch_one) {
  ReadFilter kept = filter;
  kept.after_seq = std::max(filter.after_seq, floor);
  if (filter.with_damaged) return with_damaged(filter, std::move(stored), cut_short, floor, last_seq, fetch_one);
  std::vector<Record> records;
  records.reserve(stored.size());
  for (auto& each : stored) {
    auto record = unpack(std::move(each));
    if (!record) return std::unexpected(record.error());
    records.push_back(std::move(*record));
  }
  if (!is_whole(filter)) return records;
  auto checked = check_complete(kept, records, cut_short, last_seq);
  if (!checked) return std::unexpected(checked.error());
  return records;
}

Result<std::vector<Record>> read_one_by_one(const ReadFilter& filter, std::uint64_t floor, std::uint64_t last_seq,
                                            const FetchOne& fetch_one) {
  constexpr std::uint64_t kAtOnce = 5000;  // an answer may end early, but not be empty before the end
  RecordList list(filter, floor, fetch_one);
  const std::uint64_t first = std::max(filter.after_seq, floor) + 1;
  const std::uint64_t end = std::min(filter.up_to_seq, last_seq);
  for (std::uint64_t seq = first; seq <= end && !list.full(); ++seq) {
    if (seq - first >= kAtOnce && !list.empty()) break;
    auto stored = fetch_one(seq);
    if (!stored && stored.error().code != "db.damaged") return std::unexpected(stored.error());
    if (!stored || !*stored) {
      list.add_damaged(seq);
      continue;
    }
    auto record = unpack(std::move(**stored));
    if (!record) {
      list.add_damaged(seq);
    } else if (matches(filter, *record)) {
      list.add(std::move(*record));
    }
  }
  return std::move(list).take();
}

Result<void> check_not_cut(std::uint64_t last_seq, const std::vector<std::uint64_t>& snapshots,
                           const std::string& location) {
  if (snapshots.empty() || snapshots.front() <= last_seq) return {};
  return fail(ErrorKind::internal, "db.damaged",
              fmt::format("the journal ends at record {}, but there is a snapshot of record {}: records are lost",
                          last_seq, snapshots.front()),
              location, "check the disk and restore the store from a backup");
}

}  // namespace railweave::db
