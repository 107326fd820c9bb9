// Generates fabrics by name, for `railweave lab generate KIND --hosts 128 ...`. The same parameters give the same
// fabric, names, GUIDs and LIDs included, on every machine. The headers of the kinds (fat_tree.h and so on) declare
// the typed generators.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/generate/parameters.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

struct GenerateSpec {
  std::string kind;               // a kind or a preset
  GenerateParameters parameters;  // missing ones have the default of the kind or preset
};

struct GenerateKind {
  std::string name;     // "rail-optimized"
  std::string summary;  // one line
  std::vector<GenerateParameter> parameters;
};

// A named example fabric: "demo", "gpus-100k". All parts are generated into one topology.
struct GeneratePreset {
  std::string name;
  std::string summary;
  std::vector<GenerateSpec> parts;
};

const std::vector<GenerateKind>& generate_kinds();
const std::vector<GeneratePreset>& generate_presets();

// Parameters given with a preset override those of each of its parts.
// Errors: notFound (no such kind), invalid (a parameter unknown or unreadable), impossible or tooLarge (no such fabric
// exists: too few ports, too many LIDs), each with a hint what to change.
Result<Topology> generate(const GenerateSpec& spec);
Result<Topology> generate(std::string_view kind, const GenerateParameters& parameters);

// The same into a builder that may hold other fabrics; each needs another "prefix".
Result<void> generate_into(const GenerateSpec& spec, TopologyBuilder& builder);

}  // namespace railweave::fabric
