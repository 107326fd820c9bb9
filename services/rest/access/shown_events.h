// What an event stream is sent, made once for all streams that are sent the same: those of callers of one role, and of members of
// one tenant. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "db/journal.h"
#include "services/control/state/cluster_state.h"
#include "services/rest/access/shown_event.h"

namespace railweave::api {

class ShownEvents {
 public:
  using Text = std::shared_ptr<const std::string>;  // as format_event() makes it; null: it is not shown

  Text of(const control::ClusterState& state, const EventReader& reader, const db::Record& record);
  [[nodiscard]] std::uint64_t made() const {
    const std::lock_guard lock(mutex_);
    return made_;
  }

 private:
  // The event; the role; the state that says what a member may see; the tenant, and whether its member did it itself, whose name
  // it is then shown.
  using Key = std::tuple<std::uint64_t, control::Role, std::uint64_t, std::string, bool>;
  static constexpr std::size_t kMaxKept = 1'024;

  mutable std::mutex mutex_;
  std::map<Key, Text> texts_;  // guarded by mutex_
  std::uint64_t made_ = 0;     // guarded by mutex_
};

}  // namespace railweave::api
