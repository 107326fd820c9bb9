// Records, texts and bytes for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "db/journal.h"

namespace railweave::db {

inline Record sample_record(std::uint64_t seq, std::uint64_t term = 1) {
  Record record;
  record.seq = seq;
  record.term = term;
  record.time_us = 1'700'000'000'000'000 + static_cast<std::int64_t>(seq);
  record.actor = "operator";
  record.kind = "job.placed";
  record.version = 1;
  record.subject_kind = "job";
  record.subject_id = "job-" + std::to_string(seq % 7);
  record.payload = R"({"jobs":)" + std::to_string(seq) + R"(,"name":"schräg ≠ gerade"})";
  return record;
}

inline Batch sample_batch(std::uint64_t first, std::size_t size, std::uint64_t term = 1) {
  Batch batch;
  for (std::size_t i = 0; i < size; ++i) batch.records.push_back(sample_record(first + i, term));
  return batch;
}

// Does not compress.
inline std::string random_bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t eight = random();
    std::memcpy(bytes.data() + at, &eight, std::min<std::size_t>(8, size - at));
  }
  return bytes;
}

// Text of letters and digits: compresses by a quarter.
inline std::string random_text(std::size_t size, std::uint64_t seed) {
  static constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \"";
  std::string text = random_bytes(size, seed);
  for (char& letter : text) letter = kLetters[static_cast<unsigned char>(letter) % (sizeof kLetters - 1)];
  return text;
}

inline std::string sample_digest(std::uint64_t seed) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string digest = random_bytes(64, seed);
  for (char& digit : digest) digit = kDigits[static_cast<unsigned char>(digit) % 16];
  return digest;
}

// A JSON-like document such as a topology: compresses well.
inline std::string sample_document(std::size_t size) {
  std::string text = R"({"hosts":[)";
  for (std::size_t i = 0; text.size() < size; ++i) {
    text += R"({"name":"node-)" + std::to_string(i) + R"(","guid":")" + std::to_string(i * 7919 % 1'000'003) +
            R"(","rack":")" + std::to_string(i / 32) + R"("},)";
  }
  text.resize(size);
  return text;
}

}  // namespace railweave::db
