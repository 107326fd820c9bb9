// Generates fabrics by name, as `railweave lab generate KIND --hosts 128 ...` asks for them. The same request gives the
// same fabric, names, GUIDs and LIDs included, on every machine. The typed generators are in the headers of their
// kinds.
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
  GenerateParameters parameters;  // those not given take the kind's, or the preset's, value
};

struct GenerateKind {
  std::string name;     // "rail-optimized"
  std::string summary;  // one line
  std::vector<GenerateParameter> parameters;
};

// A fabric worth a name of its own: "demo", "gpus-100k". One spec after the other goes into the same topology.
struct GeneratePreset {
  std::string name;
  std::string summary;
  std::vector<GenerateSpec> parts;
};

const std::vector<GenerateKind>& generate_kinds();
const std::vector<GeneratePreset>& generate_presets();

// Parameters given beside a preset override those of each of its parts.
// Errors: notFound (no such kind), invalid (a parameter unknown or unreadable), impossible or tooLarge (no such fabric
// exists: too few ports, too many LIDs), each saying what would do.
Result<Topology> generate(const GenerateSpec& spec);
Result<Topology> generate(std::string_view kind, const GenerateParameters& parameters);

// The same into a builder that may hold other fabrics; give each a "prefix" of its own.
Result<void> generate_into(const GenerateSpec& spec, TopologyBuilder& builder);

}  // namespace railweave::fabric
