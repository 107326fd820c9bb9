#include "fabric/generate/generate.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "fabric/generate/kind_readers.h"
#include "fabric/generate/site_copies.h"

namespace railweave::fabric {
namespace {

const KindReader* find_kind(std::string_view name) {
  const auto& readers = kind_readers();
  const auto found = std::ranges::find(readers, name, &KindReader::name);
  return found == readers.end() ? nullptr : &*found;
}

// One copy of a kind or preset, with the site's prefix before its names.
Result<void> generate_site(const GenerateSpec& spec, const std::string& site_prefix,  // NOLINT(misc-no-recursion)
                           TopologyBuilder& builder) {
  if (const KindReader* kind = find_kind(spec.kind)) {
    GenerateParameters parameters = spec.parameters;
    if (!site_prefix.empty()) parameters["prefix"].insert(0, site_prefix);
    ParameterReader reader(parameters);
    const GenerateStep step = kind->read(reader);
    if (auto ok = reader.finish(); !ok) return ok;
    return step(builder);
  }
  const auto& presets = generate_presets();
  const auto preset = std::ranges::find(presets, spec.kind, &GeneratePreset::name);
  if (preset == presets.end()) {
    std::string known;
    for (const auto& kind : kind_readers()) known += std::string(known.empty() ? "" : ", ") + std::string(kind.name);
    for (const auto& each : presets) known += ", " + each.name;
    return fail(ErrorKind::notFound, "generate.unknownKind", "there is no kind of fabric with this name", {},
                "the kinds and presets are " + known);
  }
  for (GenerateSpec part : preset->parts) {
    for (const auto& [name, value] : spec.parameters) part.parameters.insert_or_assign(name, value);
    if (auto ok = generate_site(part, site_prefix, builder); !ok) return ok;
  }
  return {};
}

}  // namespace

const std::vector<GenerateKind>& generate_kinds() {
  static const std::vector<GenerateKind> kinds = [] {
    std::vector<GenerateKind> result;
    for (const auto& kind : kind_readers()) {
      const GenerateParameters nothing;
      ParameterReader reader(nothing);
      kind.read(reader);
      std::vector<GenerateParameter> parameters = reader.declared();
      parameters.insert(parameters.end(), site_parameters().begin(), site_parameters().end());
      result.push_back({std::string(kind.name), std::string(kind.summary), std::move(parameters)});
    }
    return result;
  }();
  return kinds;
}

const std::vector<GeneratePreset>& generate_presets() {
  static const std::vector<GeneratePreset> presets{
      {"demo-hgx",
       "128 HGX hosts of 8 GPUs on 8 rails",
       {{"rail-optimized", {{"hosts", "128"}, {"hosts-per-rack", "4"}, {"prefix", "hgx-"}}}}},
      {"demo-nvl72",
       "8 NVL72 racks of 18 hosts and 72 GPUs on 4 rails",
       {{"rail-optimized", {{"hosts", "144"}, {"nvlink-domain", "72"}, {"speed", "XDR"}, {"prefix", "gb-"}}}}},
      {"demo", "demo-hgx and demo-nvl72 in one topology", {{"demo-hgx", {}}, {"demo-nvl72", {}}}},
      {"gpus-100k",
       "12,800 HGX hosts, 102,400 GPUs: 8 rails, each a plane of 3 tiers in its own subnet",
       {{"rail-optimized", {{"hosts", "12800"}, {"tiers", "3"}, {"planes", "8"}, {"hosts-per-rack", "4"}}}}},
  };
  return presets;
}

Result<void> generate_into(const GenerateSpec& spec, TopologyBuilder& builder) {
  return generate_sites(spec.parameters, builder,
                        [&](const GenerateParameters& parameters, const std::string& site_prefix) {
                          return generate_site({spec.kind, parameters}, site_prefix, builder);
                        });
}

Result<Topology> generate(const GenerateSpec& spec) {
  TopologyBuilder builder;
  if (auto ok = generate_into(spec, builder); !ok) return std::unexpected(ok.error());
  return std::move(builder).build();
}

Result<Topology> generate(std::string_view kind, const GenerateParameters& parameters) {
  return generate(GenerateSpec{std::string(kind), parameters});
}

}  // namespace railweave::fabric
