// The shared book of guarantees, brought to a state and locked while an answer is made.
#pragma once

#include <mutex>

#include "services/rest/control_plane.h"

namespace railweave::api {

struct OpenBook {
  std::unique_lock<std::mutex> lock;
  control::GuaranteeBook& book;
};
inline Result<OpenBook> open_book(const ControlPlane& plane, const control::ClusterState& state) {
  OpenBook open{std::unique_lock(plane.guarantees->mutex), plane.guarantees->book};
  if (auto brought = open.book.bring_to(state); !brought) return std::unexpected(brought.error());
  return open;
}

}  // namespace railweave::api
