// Reads what a SONiC switch's config_db.json tells of cables: its own name (DEVICE_METADATA), the rates of its ports (PORT)
// and what it believes to be cabled to them (DEVICE_NEIGHBOR, with the kind of device in DEVICE_NEIGHBOR_METADATA).
// Where the configuration has no name the file's is taken. Errors: no JSON, no port.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/ethernet/ethernet_cables.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

Result<void> read_sonic_cables(std::string_view text, const std::string& file_name, const ReadOptions& options,
                               EthernetCables& cables);

}  // namespace railweave::fabric
