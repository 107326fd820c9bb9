// The configuration files of OpenSM, written whole from plain values: partitions and their members, service levels,
// arbitration between lanes, the routing engine. Pure; OpenSM reads them when it starts and after SIGHUP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/units.h"
#include "fabric/qos/opensm_settings.h"

namespace railweave::fabric::opensm {

// PathRecord's code of the fastest standard rate that is not above the limit (InfiniBand Architecture Specification
// 1.7, 15.2.5.16). Error: below 2.5 Gb/s.
Result<std::uint8_t> rate_code(RateMbps limit);

// --- partitions.conf
// Where none has kDefaultPartition, one is written with the subnet manager as a full member and all others as limited
// ones: they reach the manager, but not each other. Errors: values that break the rules of opensm_settings.h, names or
// keys used twice, a port twice in one partition.
Result<std::string> write_partitions(const std::vector<Partition>& partitions);

// --- opensm.conf
struct OpenSmOptions {
  std::vector<std::string> routing_engines;      // in order; "no_fallback" among them: no minhop where all fail
  std::string plugin_name;                       // event_plugin_name: "railweave_opensm" for lib<...>.so; empty: none
  std::string plugin_options;                    // event_plugin_options
  std::string partitions_file, qos_policy_file;  // absolute paths; empty: OpenSM's own
  std::optional<LaneSharing> sharing;            // of all ports; none: no QoS
  std::optional<LaneSharing> adapters, switches, routers;   // instead, where given
  std::vector<std::pair<std::string, std::string>> others;  // further options, as they are
};

// Errors: values that OpenSM's reader would cut or misread, lanes and weights out of range, an option given twice.
Result<std::string> write_opensm_options(const OpenSmOptions& options);

// --- qos-policy.conf
Result<std::string> write_qos_policy(const QosPolicy& policy);

}  // namespace railweave::fabric::opensm
