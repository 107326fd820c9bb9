// The rows of an NVLink clique list as read, before they are applied to a fabric; nvlink_cliques.h describes the
// formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

struct CliqueRow {
  std::string node;
  std::string cluster_uuid;  // lower case
  std::uint32_t clique = 0;
  std::string platform;  // product or instance type; empty: not named
};

inline constexpr std::size_t kMaxCliqueRows = TopologyBuilder::kMaxHosts;

// Findings about rows that are left out go to the builder. Error: nothing usable, or JSON that cannot be read.
Result<std::vector<CliqueRow>> read_clique_rows(std::string_view text, const ReadOptions& options,
                                                TopologyBuilder& builder);

}  // namespace railweave::fabric
