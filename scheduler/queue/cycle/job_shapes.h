// Jobs that placement treats alike get the same number, so that what is known of one is known of all: 10,000 queued
// jobs are a few dozen shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "scheduler/job/job_spec.h"

namespace railweave::scheduler {

using ShapeIndex = std::uint32_t;

// Whether placement treats two jobs alike; and whether they use a place alike as well, by what they compute and send.
[[nodiscard]] bool same_shape(const JobSpec& a, const JobSpec& b);
[[nodiscard]] bool same_use(const JobSpec& a, const JobSpec& b);

class JobShapes {
 public:
  // The spec must live as long as this. O(1) but for its excluded nodes and selectors.
  [[nodiscard]] ShapeIndex of(const JobSpec& spec);
  // None: of() was not called for one like it.
  [[nodiscard]] std::optional<ShapeIndex> find(const JobSpec& spec) const;
  [[nodiscard]] std::size_t count() const { return shapes_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const JobSpec* spec) const;
  };
  struct Equal {
    bool operator()(const JobSpec* a, const JobSpec* b) const;
  };
  std::unordered_map<const JobSpec*, ShapeIndex, Hash, Equal> shapes_;
};

}  // namespace railweave::scheduler
