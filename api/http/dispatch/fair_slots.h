// Places that all callers share: event streams, large answers. A group's callers have a fair share of them together, each caller
// has one of its group's, and an eighth is left to those who are never kept out by others.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "fabric/base/fair_share.h"

namespace railweave::api {

// Whose place it is. caller "": it is not known, so only the limit of all holds.
struct SlotOwner {
  std::string caller, group;     // group "": of no other than the caller itself
  bool uses_reserve = false;     // of administrators
  std::string told = "callers";  // who shares it, for people: "tenant research"
};

// Thread-safe.
class FairSlots {
 public:
  enum class Taken { yes, full, share_used };

  explicit FairSlots(std::size_t limit) : limit_(limit), reserve_(limit / 8) {}

  Taken take(const SlotOwner& owner) {
    const std::lock_guard lock(mutex_);
    const std::size_t limit = owner.uses_reserve || owner.caller.empty() ? limit_ : limit_ - reserve_;
    if (open_ >= limit) return Taken::full;
    if (!owner.caller.empty()) {
      const std::size_t in_group = owner.group.empty() ? 0 : count(owner.group, by_group_);
      if (!owner.group.empty() && !within_fair_share(in_group, open_, limit)) return Taken::share_used;
      if (!within_fair_share(count(owner.caller, by_caller_), open_ + in_group, limit)) return Taken::share_used;
      ++by_caller_[owner.caller];
      if (!owner.group.empty()) ++by_group_[owner.group];
    }
    ++open_;
    return Taken::yes;
  }
  void release(const SlotOwner& owner) {
    const std::lock_guard lock(mutex_);
    --open_;
    if (owner.caller.empty()) return;
    forget(owner.caller, by_caller_);
    if (!owner.group.empty()) forget(owner.group, by_group_);
  }
  [[nodiscard]] std::size_t open() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }

 private:
  using Counts = std::map<std::string, std::size_t>;

  static std::size_t count(const std::string& name, const Counts& counts) {
    const auto at = counts.find(name);
    return at == counts.end() ? 0 : at->second;
  }
  static void forget(const std::string& name, Counts& counts) {
    const auto at = counts.find(name);
    if (--at->second == 0) counts.erase(at);
  }

  const std::size_t limit_, reserve_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::size_t open_ = 0;
  Counts by_caller_, by_group_;
};

// A place while it lives.
class HeldSlot {
 public:
  HeldSlot(FairSlots& slots, SlotOwner owner) : slots_(slots), owner_(std::move(owner)), taken_(slots.take(owner_)) {}
  ~HeldSlot() {
    if (taken_ == FairSlots::Taken::yes) slots_.release(owner_);
  }
  HeldSlot(const HeldSlot&) = delete;
  HeldSlot& operator=(const HeldSlot&) = delete;

  [[nodiscard]] FairSlots::Taken taken() const { return taken_; }
  [[nodiscard]] const SlotOwner& owner() const { return owner_; }

 private:
  FairSlots& slots_;
  const SlotOwner owner_;
  const FairSlots::Taken taken_;
};

}  // namespace railweave::api
