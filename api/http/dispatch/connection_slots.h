// Private to this folder: how many connections there are, in all and by address. Where there is no room for another, one that
// waits for its client is closed for it: first those that have had no answer yet, then those between requests, each from the
// address that has the most, the longest first. So connections that say nothing keep no client out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace railweave::api {

// Thread-safe.
class ConnectionSlots {
 public:
  using Id = std::uint64_t;
  struct Taken {
    Id id = 0;                    // 0: there was none
    const char* limit = nullptr;  // that was met
  };

  ConnectionSlots(std::size_t limit, std::size_t limit_per_address) : limit_(limit), per_address_(limit_per_address) {}

  Taken take(const std::string& address) {
    std::function<void()> close;
    Taken taken;
    {
      const std::lock_guard lock(mutex_);
      const auto here = by_address_.find(address);
      const std::size_t own = here == by_address_.end() ? 0 : here->second.open;
      if (per_address_ != 0 && own >= per_address_) {
        close = evict_from(here);
        if (!close) return {0, "address"};
      } else if (open_ >= limit_) {
        close = evict_for(own);
        if (!close) return {0, "limit"};
      }
      Address& room = by_address_[address];
      ++room.open;
      ++open_;
      taken.id = next_++;
      connections_.emplace(taken.id, One{address, {}});
    }
    if (close) close();
    return taken;
  }

  // How it is closed: called once at most, on any thread, while it waits.
  void close_by(Id id, std::function<void()> close) {
    const std::lock_guard lock(mutex_);
    const auto at = connections_.find(id);
    if (at != connections_.end()) at->second.close = std::move(close);
  }

  // It waits for its client's next request; answered: it has had an answer before.
  void waits(Id id, bool answered) {
    const std::lock_guard lock(mutex_);
    const auto at = connections_.find(id);
    if (at == connections_.end() || at->second.since != 0) return;
    at->second.kind = answered ? 1 : 0;
    at->second.since = next_++;
    by_address_[at->second.address].waiting[at->second.kind].emplace(at->second.since, id);
  }
  // A request is there. False: it was closed for another.
  bool busy(Id id) {
    const std::lock_guard lock(mutex_);
    const auto at = connections_.find(id);
    if (at == connections_.end()) return false;
    stop_waiting(at->second);
    return true;
  }
  void release(Id id) {
    const std::lock_guard lock(mutex_);
    const auto at = connections_.find(id);
    if (at != connections_.end()) forget(at);
  }
  [[nodiscard]] std::size_t open() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }

 private:
  struct One {
    std::string address;
    std::function<void()> close;
    std::uint64_t since = 0;  // 0: it does not wait
    std::size_t kind = 0;
  };
  struct Address {
    std::size_t open = 0;
    std::array<std::map<std::uint64_t, Id>, 2> waiting;  // not answered yet, and between requests: since when
  };
  using Addresses = std::map<std::string, Address>;
  using Connections = std::unordered_map<Id, One>;

  void stop_waiting(One& one) {
    if (one.since == 0) return;
    by_address_[one.address].waiting[one.kind].erase(one.since);
    one.since = 0;
  }
  void forget(Connections::iterator at) {
    stop_waiting(at->second);
    const auto here = by_address_.find(at->second.address);
    if (--here->second.open == 0) by_address_.erase(here);
    --open_;
    connections_.erase(at);
  }
  // From no address that has fewer than whoever asks: it would only move the want of room.
  std::function<void()> evict_for(std::size_t own) {
    for (std::size_t kind = 0; kind < 2; ++kind) {
      auto most = by_address_.end();
      for (auto at = by_address_.begin(); at != by_address_.end(); ++at) {
        if (at->second.waiting[kind].empty() || at->second.open < own) continue;
        if (most == by_address_.end() || at->second.open > most->second.open) most = at;
      }
      if (most != by_address_.end()) return evict(most->second.waiting[kind].begin()->second);
    }
    return {};
  }
  std::function<void()> evict_from(Addresses::iterator address) {
    for (const auto& waiting : address->second.waiting) {
      if (!waiting.empty()) return evict(waiting.begin()->second);
    }
    return {};
  }
  // Its place is free at once; the connection itself ends on its own thread.
  std::function<void()> evict(Id id) {
    const auto at = connections_.find(id);
    std::function<void()> close = std::move(at->second.close);
    forget(at);
    return close;
  }

  const std::size_t limit_;
  const std::size_t per_address_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::size_t open_ = 0;
  std::uint64_t next_ = 1;  // of ids and of times of waiting
  Addresses by_address_;
  Connections connections_;
};

}  // namespace railweave::api
