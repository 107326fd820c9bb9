#include "db/sqlite/read_query.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "db/limits.h"

namespace railweave::db::sqlite {
namespace {

constexpr int kAfter = 1;
constexpr int kUpTo = 2;
constexpr int kLimit = 3;
constexpr int kSubjectKind = 4;
constexpr int kSubjectId = 5;
constexpr int kFirstKind = 6;

constexpr std::string_view kSelect =
    "SELECT seq, term, time_us, actor, kind, version, subject_kind, subject_id, crc32, payload_bytes, payload"
    " FROM journal WHERE seq > ?1 AND seq <= ?2";

}  // namespace

ReadQuery::ReadQuery(const ReadFilter& filter) : filter_(filter), kinds_(filter.kinds.begin(), filter.kinds.end()) {
  std::ranges::sort(kinds_);
  const auto again = std::ranges::unique(kinds_);
  kinds_.erase(again.begin(), again.end());
}

std::string ReadQuery::sql() const {
  std::string select(kSelect);
  std::string placeholders;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    placeholders += fmt::format("{}{}", i == 0 ? "?" : ", ?", kFirstKind + static_cast<int>(i));
  }
  const std::string end = " ORDER BY seq LIMIT ?3";

  // A "+" keeps SQLite from using that column's index, which is not in the order of seq.
  if (!filter_.subject_id.empty()) {
    // Few records: the index by subject gives them in order.
    select += " AND subject_kind = ?4 AND subject_id = ?5";
    if (!kinds_.empty()) select += " AND +kind IN (" + placeholders + ")";
    return select + end;
  }
  if (!filter_.subject_kind.empty()) select += " AND +subject_kind = ?4";
  if (kinds_.empty()) return select + end;
  // The index by kind is in order within one kind; SQLite merges the parts of a UNION ALL lazily.
  std::string all;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    all += fmt::format("{}{} AND kind = ?{}", i == 0 ? "" : " UNION ALL ", select, kFirstKind + static_cast<int>(i));
  }
  return all + end;
}

void ReadQuery::bind(Statement& statement, std::size_t limit) const {
  statement.bind_unsigned(kAfter, std::min(filter_.after_seq, kMaxSeq));
  statement.bind_unsigned(kUpTo, std::min(filter_.up_to_seq, kMaxSeq));
  statement.bind_unsigned(kLimit, limit);
  if (!filter_.subject_kind.empty()) statement.bind_text(kSubjectKind, filter_.subject_kind);
  if (!filter_.subject_id.empty()) statement.bind_text(kSubjectId, filter_.subject_id);
  for (std::size_t i = 0; i < kinds_.size(); ++i) statement.bind_text(kFirstKind + static_cast<int>(i), kinds_[i]);
}

}  // namespace railweave::db::sqlite
