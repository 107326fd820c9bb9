#include "db/store_copy.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "db/limits.h"
#include "fabric/base/fnv1a.h"

namespace railweave::db {
namespace {

class ContentDigest {
 public:
  ContentDigest& number(std::uint64_t value) {
    hash_.add(value);
    return *this;
  }
  ContentDigest& text(std::string_view value) {
    hash_.add(std::uint64_t{value.size()}).add(value);
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const { return hash_.value(); }

 private:
  Fnv1a hash_;
};

class StoreReader {
 public:
  StoreReader(StoreImage& image, StoreImport* to, const StoreProgress& progress)
      : image_(image), to_(to), progress_(progress) {}

  Result<StoreContents> read() {
    contents_.first_seq = image_.extent().first_seq;
    contents_.last_seq = image_.extent().last_seq;
    if (auto read = blobs(); !read) return std::unexpected(read.error());
    if (auto read = records(); !read) return std::unexpected(read.error());
    if (auto read = reports(); !read) return std::unexpected(read.error());
    if (auto read = snapshots(); !read) return std::unexpected(read.error());
    contents_.digest = digest_.value();
    return contents_;
  }

 private:
  std::unexpected<Error> damage(const std::string& what) const {
    return fail(ErrorKind::internal, "db.damaged", what, image_.location(), "restore the store from a backup");
  }
  void say(std::string_view what, std::uint64_t done, std::uint64_t of) const {
    if (progress_) progress_(what, done, of);
  }

  Result<void> blobs() {
    const auto digests = image_.digests();
    if (!digests) return std::unexpected(digests.error());
    for (const auto& digest : *digests) {
      auto stored = image_.blob(digest);
      if (!stored) return std::unexpected(stored.error());
      if (!*stored) return damage("document " + digest + " is missing");
      auto whole = unpack(digest, std::move(**stored));
      if (!whole) return std::unexpected(whole.error());
      digest_.text(whole->digest).text(whole->bytes);
      contents_.bytes += whole->bytes.size();
      ++contents_.blobs;
      say("documents", contents_.blobs, digests->size());
      if (to_ == nullptr) continue;
      Batch batch;
      batch.blobs.push_back(std::move(*whole));
      if (auto added = to_->add(batch); !added) return added;
    }
    return {};
  }

  Result<void> records() {
    const std::uint64_t first = contents_.first_seq;
    for (std::uint64_t after = first == 0 ? 0 : first - 1; after < contents_.last_seq;) {
      auto page = image_.records(after);
      if (!page) return std::unexpected(page.error());
      if (page->empty()) return damage(fmt::format("record {} is missing", after + 1));
      Batch batch;
      for (auto& stored : *page) {
        const std::uint64_t seq = stored.record.seq;
        if (seq != after + 1) return damage(fmt::format("record {} is missing", after + 1));
        auto record = unpack(std::move(stored));
        if (!record) return std::unexpected(record.error());
        after = seq;
        ++contents_.records;
        contents_.bytes += record->payload.size();
        digest_.number(record->seq).number(record->term).number(static_cast<std::uint64_t>(record->time_us));
        digest_.text(record->actor).text(record->kind).number(record->version).text(record->subject_kind);
        digest_.text(record->subject_id).text(record->payload);
        if (to_ != nullptr) batch.records.push_back(std::move(*record));
      }
      if (to_ != nullptr) {
        if (auto added = to_->add(batch); !added) return added;
      }
      say("records", after, contents_.last_seq);
    }
    return {};
  }

  Result<void> reports() {
    constexpr std::size_t kRows = 1000;
    Batch batch;
    const auto flush = [&]() -> Result<void> {
      if (to_ == nullptr || batch.reports.empty()) return {};
      auto added = to_->add(batch);
      batch.reports.clear();
      return added;
    };
    auto read = image_.reports([&](ReportRow&& row) -> Result<void> {
      digest_.text(row.table);
      std::ranges::sort(row.columns, {}, [](const auto& column) -> const std::string& { return column.first; });
      for (const auto& [name, value] : row.columns) {
        digest_.text(name).number(value.index());
        if (const auto* integer = std::get_if<std::int64_t>(&value)) {
          digest_.number(static_cast<std::uint64_t>(*integer));
        } else if (const auto* real = std::get_if<double>(&value)) {
          digest_.number(std::bit_cast<std::uint64_t>(*real));
        } else if (const auto* text = std::get_if<std::string>(&value)) {
          digest_.text(*text);
        }
      }
      ++contents_.reports;
      if (contents_.reports % kRows == 0) say("rows of reports", contents_.reports, 0);
      if (to_ == nullptr) return {};
      batch.reports.push_back(std::move(row));
      return batch.reports.size() < kRows ? Result<void>() : flush();
    });
    return read ? flush() : read;
  }

  Result<void> snapshots() {
    const auto seqs = image_.snapshots();
    if (!seqs) return std::unexpected(seqs.error());
    for (const std::uint64_t seq : std::vector<std::uint64_t>(seqs->rbegin(), seqs->rend())) {
      auto stored = image_.snapshot(seq);
      if (!stored) return std::unexpected(stored.error());
      if (!*stored) return damage(fmt::format("snapshot {} is missing", seq));
      const auto whole = unpack(std::move(**stored));
      if (!whole) return std::unexpected(whole.error());
      if (seq > contents_.last_seq) return damage("there is a snapshot of a record beyond the journal's end");
      digest_.number(whole->seq).number(whole->term).number(static_cast<std::uint64_t>(whole->time_us));
      digest_.number(whole->version).text(whole->payload);
      contents_.bytes += whole->payload.size();
      ++contents_.snapshots;
      say("snapshots", contents_.snapshots, seqs->size());
      if (to_ == nullptr) continue;
      if (auto added = to_->add(*whole); !added) return added;
    }
    if (contents_.first_seq > 1 && (seqs->empty() || seqs->back() + 1 < contents_.first_seq)) {
      return damage(
          fmt::format("the records before {} are gone, and no snapshot stands for them", contents_.first_seq));
    }
    return {};
  }

  StoreImage& image_;
  StoreImport* to_;
  const StoreProgress& progress_;
  StoreContents contents_;
  ContentDigest digest_;
};

}  // namespace

Result<StoreContents> read_store(StoreImage& image, const StoreProgress& progress) {
  return StoreReader(image, nullptr, progress).read();
}

Result<StoreContents> copy_store(StoreImage& from, StoreImport& to, const StoreProgress& progress) {
  auto copied = StoreReader(from, &to, progress).read();
  if (!copied) return copied;
  if (auto finished = to.finish(); !finished) return std::unexpected(finished.error());
  return copied;
}

}  // namespace railweave::db
