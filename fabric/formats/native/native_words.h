// The words of the native format for the enumerations of a Topology.
#pragma once

#include <optional>
#include <string_view>

#include "fabric/topology/finding.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

std::string_view native_word(HostKind kind);
std::string_view native_word(HcaKind kind);
std::string_view native_word(SubnetKind kind);

std::optional<HostKind> parse_host_kind(std::string_view text);
std::optional<HcaKind> parse_hca_kind(std::string_view text);
std::optional<SubnetKind> parse_subnet_kind(std::string_view text);
std::optional<Severity> parse_severity(std::string_view text);

}  // namespace railweave::fabric
