// Interned strings in one block of memory: a name costs its bytes once and 4 bytes per use.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace railweave::fabric {

using NameRef = std::uint32_t;  // 0 is the empty name

class StringPool {
 public:
  StringPool() : offsets_{0, 0} {}
  [[nodiscard]] std::string_view operator[](NameRef ref) const {
    return std::string_view(bytes_).substr(offsets_[ref], offsets_[ref + 1] - offsets_[ref]);
  }
  [[nodiscard]] std::size_t size() const { return offsets_.size() - 1; }
  [[nodiscard]] std::size_t memory_bytes() const {
    return bytes_.capacity() + offsets_.capacity() * sizeof(offsets_[0]);
  }

 private:
  friend class StringInterner;
  std::string bytes_;
  std::vector<std::uint32_t> offsets_;
};

// Builds a StringPool; equal strings get equal refs.
class StringInterner {
 public:
  StringInterner() = default;
  StringInterner(StringInterner&&) = default;
  StringInterner& operator=(StringInterner&&) = default;
  StringInterner(const StringInterner&) = delete;  // refs_ points into keys_
  StringInterner& operator=(const StringInterner&) = delete;
  ~StringInterner() = default;
  explicit StringInterner(StringPool pool) : pool_(std::move(pool)) {}  // adds to a pool; its strings may be repeated
  NameRef intern(std::string_view text) {
    if (text.empty()) return 0;
    if (const auto found = refs_.find(text); found != refs_.end()) return found->second;
    pool_.bytes_.append(text);
    pool_.offsets_.push_back(static_cast<std::uint32_t>(pool_.bytes_.size()));
    const auto ref = static_cast<NameRef>(pool_.offsets_.size() - 2);
    refs_.emplace(keys_.emplace_back(text), ref);
    return ref;
  }
  [[nodiscard]] std::optional<NameRef> find(std::string_view text) const {
    if (text.empty()) return 0;
    const auto found = refs_.find(text);
    return found == refs_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::string_view operator[](NameRef ref) const { return pool_[ref]; }
  StringPool take() && { return std::move(pool_); }

 private:
  StringPool pool_;
  std::deque<std::string> keys_;
  std::unordered_map<std::string_view, NameRef> refs_;
};

}  // namespace railweave::fabric
