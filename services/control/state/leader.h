// The process that leads, as it says itself when its term begins.
#pragma once

#include <cstdint>
#include <string>

namespace railweave::control {

struct Leader {
  std::string name;           // among the replicas; "": none has led yet, as where there is only one process
  std::string url;            // where others send requests to
  std::uint64_t term = 0;     // of the event that said so
  std::int64_t since_us = 0;  // unix, UTC
  friend bool operator==(const Leader&, const Leader&) = default;
};

}  // namespace railweave::control
