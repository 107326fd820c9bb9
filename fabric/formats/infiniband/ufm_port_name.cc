#include "fabric/formats/infiniband/ufm_port_name.h"

#include "fabric/base/whole_number.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

std::optional<UfmPortName> parse_ufm_port_name(std::string_view text) {
  const auto line = text.rfind('_');
  if (line == std::string_view::npos) return std::nullopt;
  const auto guid = parse_guid(text.substr(0, line));
  const auto number = whole_number<unsigned>(text.substr(line + 1), TopologyBuilder::kMaxPortsPerDevice);
  if (!guid || !guid->known() || !number || *number == 0) return std::nullopt;
  return UfmPortName{*guid, *number};
}

}  // namespace railweave::fabric
