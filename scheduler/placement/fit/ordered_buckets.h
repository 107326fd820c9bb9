// Items 0..n-1, each with a small key, found by key and then by number: for best-fit, the least key that suffices and
// the lowest item that has it. One bitmap of items per key with a summary above it, and one bitmap of the keys in use,
// so that every operation takes a few words whatever n is. Bitmaps rather than linked lists per key, because the lowest
// item wins: what is found depends on the keys alone, not on the order in which they came about.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace railweave::scheduler {

class OrderedBuckets {
 public:
  OrderedBuckets() = default;
  // All items at key 0. (max_key + 1) x items / 8 bytes, and a little.
  OrderedBuckets(std::uint32_t items, std::uint32_t max_key)
      : words_((items + 63) / 64),
        summary_words_((words_ + 63) / 64),
        bits_((std::size_t{max_key} + 1) * words_),
        summary_((std::size_t{max_key} + 1) * summary_words_),
        count_(std::size_t{max_key} + 1),
        keys_in_use_((std::size_t{max_key} + 64) / 64) {
    for (std::uint32_t item = 0; item < items; ++item) insert(item, 0);
  }

  [[nodiscard]] bool enabled() const { return !count_.empty(); }

  void move(std::uint32_t item, std::uint32_t from, std::uint32_t to) {
    std::uint64_t& word = bits_[std::size_t{from} * words_ + item / 64];
    word &= ~bit(item);
    if (word == 0) summary_[std::size_t{from} * summary_words_ + item / 4096] &= ~bit(item / 64);
    if (--count_[from] == 0) keys_in_use_[from / 64] &= ~bit(from);
    insert(item, to);
  }

  // The least key of at least / the greatest of at most `key` that some item has.
  [[nodiscard]] std::optional<std::uint32_t> key_from(std::uint32_t key) const {
    if (key >= count_.size()) return std::nullopt;
    std::size_t at = key / 64;
    std::uint64_t word = keys_in_use_[at] & (~std::uint64_t{0} << (key % 64));
    while (word == 0) {
      if (++at == keys_in_use_.size()) return std::nullopt;
      word = keys_in_use_[at];
    }
    return static_cast<std::uint32_t>(at * 64 + static_cast<unsigned>(std::countr_zero(word)));
  }
  [[nodiscard]] std::optional<std::uint32_t> key_up_to(std::uint32_t key) const {
    if (count_.empty()) return std::nullopt;
    if (key >= count_.size()) key = static_cast<std::uint32_t>(count_.size() - 1);
    std::size_t at = key / 64;
    std::uint64_t word = keys_in_use_[at] & (~std::uint64_t{0} >> (63 - key % 64));
    while (word == 0) {
      if (at-- == 0) return std::nullopt;
      word = keys_in_use_[at];
    }
    return static_cast<std::uint32_t>(at * 64 + 63 - static_cast<unsigned>(std::countl_zero(word)));
  }

  // The lowest item of [from, end) with that key; end where there is none.
  [[nodiscard]] std::uint32_t item_from(std::uint32_t key, std::uint32_t from, std::uint32_t end) const {
    if (from >= end || count_[key] == 0) return end;
    const std::uint64_t* bits = bits_.data() + std::size_t{key} * words_;
    std::uint32_t at = from / 64;
    std::uint64_t word = bits[at] & (~std::uint64_t{0} << (from % 64));
    if (word == 0) {
      at = word_after(key, at);
      if (at == words_) return end;
      word = bits[at];
    }
    const std::uint32_t item = at * 64 + static_cast<std::uint32_t>(std::countr_zero(word));
    return item < end ? item : end;
  }

 private:
  static std::uint64_t bit(std::uint32_t i) { return std::uint64_t{1} << (i % 64); }

  void insert(std::uint32_t item, std::uint32_t key) {
    bits_[std::size_t{key} * words_ + item / 64] |= bit(item);
    summary_[std::size_t{key} * summary_words_ + item / 4096] |= bit(item / 64);
    if (count_[key]++ == 0) keys_in_use_[key / 64] |= bit(key);
  }

  // The next word after `at` with an item of that key; words_ where there is none.
  [[nodiscard]] std::uint32_t word_after(std::uint32_t key, std::uint32_t at) const {
    const std::uint64_t* summary = summary_.data() + std::size_t{key} * summary_words_;
    std::uint32_t from = at + 1;
    std::uint32_t s = from / 64;
    if (s >= summary_words_) return words_;
    std::uint64_t word = summary[s] & (~std::uint64_t{0} << (from % 64));
    while (word == 0) {
      if (++s == summary_words_) return words_;
      word = summary[s];
    }
    return s * 64 + static_cast<std::uint32_t>(std::countr_zero(word));
  }

  std::uint32_t words_ = 0;
  std::uint32_t summary_words_ = 0;
  std::vector<std::uint64_t> bits_;     // by key: items
  std::vector<std::uint64_t> summary_;  // by key: words of bits_ that are not 0
  std::vector<std::uint32_t> count_;    // by key
  std::vector<std::uint64_t> keys_in_use_;
};

}  // namespace railweave::scheduler
