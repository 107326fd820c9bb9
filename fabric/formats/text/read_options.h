// What every reader of fabric/formats takes, and the limits that hold for all of them. A reader adds what it reads to a
// TopologyBuilder, so that several files (compute and storage dumps, a clique list) compose into one fabric. Where it
// is safe to read on it adds a Finding and goes on; otherwise it returns an Error whose location is "FILE: line L,
// column C" (columns count bytes from 1), and the builder must not be used further.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

struct ReadOptions {
  std::string source;              // file name for messages; may be empty
  std::string subnet = "default";  // what the subnet described is called
  SubnetKind subnet_kind = SubnetKind::unknown;
};

// Beyond these an input is refused with ErrorKind::tooLarge. TopologyBuilder limits the counts of things.
inline constexpr std::size_t kMaxInputBytes = std::size_t{1} << 27U;
inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 14U;  // of the line-oriented formats
inline constexpr std::size_t kMaxNameBytes = 256;         // of one name or description in them; the rest is cut
inline constexpr std::size_t kMaxStoredNameBytes = 1024;  // in native JSON, which also keeps composed names
inline constexpr std::size_t kMaxUnreadableLines = 1000;  // then reading on makes no sense

// "FILE: line L, column C", or without the file where source is empty.
std::string location_text(std::string_view source, std::size_t line, std::size_t column);

}  // namespace railweave::fabric
