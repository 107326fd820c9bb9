// The lines that the plugin sends to railweaved: a greeting, then events of OpenSM. See protocol.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/base/guid.h"

namespace railweave::fabric::opensm {

inline constexpr unsigned kProtocolVersion = 3;

// "railweave 3 <guid>": the port that OpenSM is bound to stands for the subnet.
std::string write_hello(Guid subnet);
Result<Guid> read_hello(std::string_view line);

struct PolicyEvent {
  enum class Kind : std::uint8_t {
    trap,         // device, port (0: not of one port), number: that of the trap
    subnetUp,     // revision, digest
    subnetError,  // OpenSM met errors and will sweep again
    routing,      // tables are computed, and written when they are: no one else may write meanwhile
    routed,       // revision, digest: tables computed by our engine and handed to OpenSM
    written,      // device, number: blocks of its forwarding table that OpenSM wrote
    refused,      // text: a policy, or routing; in the latter case OpenSM's next engine takes over
    takesPorts,   // tables of ports in a policy are programmed: this OpenSM is master, and sets up QoS
    noPorts,      // text: why they are not
    lost,         // number: events that were dropped because they could not be sent
  };
  Kind kind = Kind::trap;
  Guid device;
  unsigned port = 0;
  std::uint64_t number = 0;
  std::uint64_t revision = 0;  // of the policy; 0: none was ever received
  std::uint64_t digest = 0;    // ForwardingTables::digest()
  std::string text;            // at most kMaxReason bytes, printable
  friend bool operator==(const PolicyEvent&, const PolicyEvent&) = default;

  static constexpr std::size_t kMaxReason = 400;
};

// One line, the line feed included. The text is clipped and made printable.
std::string write_event(const PolicyEvent& event);
Result<PolicyEvent> read_event(std::string_view line);

}  // namespace railweave::fabric::opensm
