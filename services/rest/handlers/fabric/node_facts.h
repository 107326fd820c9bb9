// What operators say of nodes beyond their cabling: racks, kinds, labels (a GPU's model among them). Kept in the accepted
// topology, and over imports of dumps, which do not say.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/rest/handlers/fabric/topology_import.h"

namespace railweave::api {

struct NodeFacts {
  std::string node;                 // its name, or a pattern (name_pattern.h)
  std::optional<std::string> rack;  // "": in none
  std::optional<fabric::HostKind> kind;
  std::map<std::string, std::optional<std::string>> labels;  // none: removed
};

// {"rack", "kind", "labels"} of one node, and {"nodes": [{"id", "rack", "kind", "labels"}]}.
Result<NodeFacts> read_node_facts(const std::string& node, std::string_view body);
Result<std::vector<NodeFacts>> read_inventory(std::string_view body);

// The present topology with them, one after the other. Errors: nodes.notFound.
Result<ImportedTopology> with_node_facts(const fabric::Topology& present, std::span<const NodeFacts> facts);

// A topology imported from dumps, which know no racks and labels and guess kinds, with those that the present one has of
// the same nodes.
Result<ImportedTopology> keep_node_facts(const fabric::Topology& present, ImportedTopology imported);

}  // namespace railweave::api
