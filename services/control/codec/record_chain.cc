#include "services/control/codec/record_chain.h"

#include <cstdint>
#include <string_view>

#include <fmt/core.h>

#include "services/json/digest.h"

namespace railweave::api {
namespace {

constexpr std::string_view kBegin = R"({"after":")";
constexpr std::size_t kDigits = 64;

// Lengths before texts, so that no two records come to the same bytes.
void add(std::string& bytes, std::uint64_t value) {
  constexpr unsigned kByte = 8;
  for (unsigned i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (kByte * i) & 0xFFU);
}
void add(std::string& bytes, std::string_view text) {
  add(bytes, std::uint64_t{text.size()});
  bytes += text;
}

}  // namespace

std::string record_digest(const db::Record& record) {
  constexpr std::size_t kNumbers = 128;
  std::string bytes;
  bytes.reserve(record.payload.size() + record.actor.size() + record.kind.size() + record.subject_kind.size() +
                record.subject_id.size() + kNumbers);
  add(bytes, record.seq);
  add(bytes, record.term);
  add(bytes, static_cast<std::uint64_t>(record.time_us));
  add(bytes, record.actor);
  add(bytes, record.kind);
  add(bytes, std::uint64_t{record.version});
  add(bytes, record.subject_kind);
  add(bytes, record.subject_id);
  add(bytes, record.payload);
  return sha256_hex(bytes);
}

void link_record(db::Record& record, const std::string& digest_before) {
  if (digest_before.empty() || !record.payload.starts_with("{\"")) return;
  record.payload.replace(0, 1, fmt::format("{}{}\",", kBegin, digest_before));
}

std::optional<std::string> digest_before(const db::Record& record) {
  if (!record.payload.starts_with(kBegin) || record.payload.size() < kBegin.size() + kDigits) return std::nullopt;
  return record.payload.substr(kBegin.size(), kDigits);
}

bool ChainCheck::follow(const db::Record& record) {
  const auto before = digest_before(record);
  const bool fits = head_.empty() || !before || *before == head_;
  if (before) ++linked_;
  head_ = record_digest(record);
  return fits;
}

}  // namespace railweave::api
