// The port of a client of the subnet's administration.
#pragma once

#include <cstdint>

#include <infiniband/umad.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_types.h>

struct Port {
  int handle = -1, agent = -1, directed = -1, by_lid = -1;
  umad_port_t info{};
  std::uint32_t transaction = 1;
};

// takes_reports: datagrams that tell of notices are handed to this client; and questions about a subnet manager, as ibsim hands on requests
// only all together.
inline bool open(Port& port, bool takes_reports) {
  if (umad_init() < 0) return false;
  port.handle = umad_open_port(nullptr, 0);
  if (port.handle < 0 || umad_get_port(nullptr, 0, &port.info) < 0) return false;
  long methods[16 / sizeof(long)] = {};
  if (takes_reports) methods[0] |= 1L << UMAD_METHOD_REPORT;
  if (takes_reports) {
    port.by_lid = umad_register(port.handle, UMAD_CLASS_SUBN_LID_ROUTED, 1, 0, nullptr);
    port.directed = umad_register(port.handle, UMAD_CLASS_SUBN_DIRECTED_ROUTE, 1, 0, nullptr);
    if (port.by_lid < 0 || port.directed < 0) return false;
  }
  port.agent =
      umad_register(port.handle, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION, 0, takes_reports ? methods : nullptr);
  return port.agent >= 0;
}
