#include "fabric/generate/site_copies.h"

#include <algorithm>

#include <fmt/core.h>

namespace railweave::fabric {
namespace {

constexpr std::uint32_t kMaxGeneratedSites = 64;

struct SitesSpec {
  std::uint32_t sites = 1;
  SiteLink link;  // between every two
};

SitesSpec read_sites(ParameterReader& reader) {
  SitesSpec spec;
  spec.sites =
      reader.number("sites", "copies of the fabric, one per site, named site-1 and so on", 1, 1, kMaxGeneratedSites);
  spec.link.links = reader.number("wan-links", "number of parallel links between two sites", 8, 1, 4096);
  spec.link.rate = from_gbps(reader.number("wan-rate", "rate of one of them, Gb/s", 400, 1, 100'000));
  spec.link.length_km =
      static_cast<float>(reader.number("wan-km", "their length in km; light needs 5 us/km", 80, 0, 40'000));
  spec.link.latency_us = spec.link.usual_latency_us();
  return spec;
}

}  // namespace

const std::vector<GenerateParameter>& site_parameters() {
  static const std::vector<GenerateParameter> parameters = [] {
    const GenerateParameters nothing;
    ParameterReader reader(nothing);
    read_sites(reader);
    return reader.declared();
  }();
  return parameters;
}

Result<void> generate_sites(
    const GenerateParameters& parameters, TopologyBuilder& builder,
    const std::function<Result<void>(const GenerateParameters&, const std::string&)>& generate) {
  GenerateParameters own, rest;
  for (const auto& [name, value] : parameters) {
    const bool of_sites =
        std::ranges::find(site_parameters(), name, &GenerateParameter::name) != site_parameters().end();
    (of_sites ? own : rest).emplace(name, value);
  }
  ParameterReader reader(own);
  SitesSpec spec = read_sites(reader);
  if (auto ok = reader.finish(); !ok) return ok;
  if (spec.sites == 1) return generate(rest, "");
  for (std::uint32_t s = 1; s <= spec.sites; ++s) {
    const std::size_t first = builder.host_count();
    const std::string number = std::to_string(s);
    if (auto ok = generate(rest, "s" + number + "-"); !ok) return ok;
    const SiteId site = builder.site("site-" + number);
    for (std::size_t host = first; host < builder.host_count(); ++host) builder.set_site(HostDraft(host), site);
  }
  for (std::uint32_t a = 1; a <= spec.sites; ++a) {
    for (std::uint32_t b = a + 1; b <= spec.sites; ++b) {
      spec.link.a = builder.site(fmt::format("site-{}", a));
      spec.link.b = builder.site(fmt::format("site-{}", b));
      builder.join_sites(spec.link);
    }
  }
  return {};
}

}  // namespace railweave::fabric
