#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/formats/native/native_json.h"
#include "fabric/formats/native/native_reader.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

constexpr std::uint64_t kMaxRateMbps = UINT32_MAX;
constexpr std::size_t kMaxSubnets = 1U << 16U;
constexpr std::size_t kMaxRacks = TopologyBuilder::kMaxHosts;
constexpr std::size_t kMaxRails = 1U << 16U;
constexpr std::uint32_t kMaxLinksOfSites = 1U << 16U;
constexpr std::size_t kMaxLinkSpecs = 1U << 22U;
constexpr std::size_t kMaxText = 16384;  // bytes of a finding's message or object
constexpr std::size_t kMaxObjectsOfFindings = 1U << 24U;

}  // namespace

const std::array<NativeReader::Section, 12> NativeReader::kSections{{
    {"subnets", &NativeReader::read_subnet},
    {"sites", &NativeReader::read_site},
    {"siteLinks", &NativeReader::read_site_link},
    {"racks", &NativeReader::read_rack},
    {"rails", &NativeReader::read_rail},
    {"nvlinkDomains", &NativeReader::read_domain},
    {"switches", &NativeReader::read_switch},
    {"hosts", &NativeReader::read_host},
    {"adapters", &NativeReader::read_lone_adapter},
    {"linkSpecs", &NativeReader::read_link_spec},
    {"links", &NativeReader::read_link},
    {"findings", &NativeReader::read_finding},
}};

Result<void> NativeReader::read() {
  if (!find_sections()) return std::unexpected(error_);
  // Each section only after those it refers to, wherever the file has them.
  for (const auto& [name, read_element] : kSections) {
    const std::size_t at = offset_of(name);
    if (at == kAbsent) continue;
    JsonReader json(text_, options_.source, at);
    json_ = &json;
    if (!json.array([&] { return (this->*read_element)(); })) return std::unexpected(json.error());
  }
  return {};
}

std::size_t NativeReader::offset_of(std::string_view name) const {
  for (std::size_t i = 0; i < kSections.size(); ++i) {
    if (kSections[i].name == name) return offsets_[i];
  }
  return kAbsent;
}

bool NativeReader::find_sections() {
  offsets_.fill(kAbsent);
  JsonReader json(text_, options_.source);
  std::string kind;
  std::uint64_t version = 0;
  json.object([&](std::string_view field) {
    if (field == "railweave") {
      return json.name(kind) && (kind == "fabric" || json.fail("expected \"fabric\": this is another kind of file"));
    }
    if (field == "version") {
      return json.whole_number(version, UINT32_MAX) &&
             (version == 1 || json.fail(fmt::format("version {} is not known; expected 1", version), "native.version"));
    }
    for (std::size_t i = 0; i < kSections.size(); ++i) {
      if (kSections[i].name != field) continue;
      offsets_[i] = json.value_offset();
      return json.skip_value();
    }
    return json.unknown_field(field, "a fabric");
  });
  if (json.ok()) json.end();
  if (json.ok() && kind.empty()) json.fail_at(0, "the field \"railweave\": \"fabric\" is missing", "native.kind");
  if (json.ok() && version == 0) json.fail_at(0, "the field \"version\": 1 is missing", "native.version");
  error_ = json.error();
  return json.ok();
}

bool NativeReader::read_subnet() {
  std::string name;
  SubnetKind kind = SubnetKind::unknown;
  const bool read = json_->object([&](std::string_view field) {
    if (field == "name") return json_->name(name);
    if (field == "kind") return word(kind, parse_enum<SubnetKind>, "unknown, compute, storage or management");
    return json_->unknown_field(field, "a subnet");
  });
  return read && add_name(subnets_, kMaxSubnets, name, builder_.subnet(name, kind));
}

bool NativeReader::read_rack() {
  return json_->name(text_buffer_) && add_name(racks_, kMaxRacks, text_buffer_, builder_.rack(text_buffer_));
}

bool NativeReader::read_site() {
  return json_->name(text_buffer_) &&
         add_name(sites_, TopologyBuilder::kMaxSites, text_buffer_, builder_.site(text_buffer_));
}

bool NativeReader::read_site_link() {
  SiteLink link;
  std::optional<float> latency_us;
  const bool read = json_->object([&](std::string_view field) {
    if (field == "a") return reference(link.a, sites_, "sites");
    if (field == "b") return reference(link.b, sites_, "sites");
    if (field == "links") return json_->whole_number(link.links, kMaxLinksOfSites);
    if (field == "rateMbps") return rate(link.rate);
    if (field == "lengthKm") return json_->decimal(link.length_km);
    if (field == "latencyUs") return json_->decimal(latency_us.emplace());
    return json_->unknown_field(field, "a link between sites");
  });
  if (!read) return false;
  if (!link.a || !link.b || link.a == link.b) {
    return json_->fail("a link between sites needs \"a\" and \"b\", two sites", "native.siteLink");
  }
  if (link.links == 0 || link.rate == RateMbps()) {
    return json_->fail("a link between sites needs \"rateMbps\", and \"links\" of at least 1", "native.siteLink");
  }
  if (++site_links_ > TopologyBuilder::kMaxSiteLinks) return too_many("links between sites");
  link.latency_us = latency_us.value_or(link.usual_latency_us());
  builder_.join_sites(link);
  return true;
}

bool NativeReader::read_rail() {
  return json_->name(text_buffer_) && add_name(rails_, kMaxRails, text_buffer_, builder_.rail(text_buffer_));
}

bool NativeReader::read_domain() {
  std::string name;
  std::string cluster_uuid;
  RateMbps rate_per_gpu;
  const bool read = json_->object([&](std::string_view field) {
    if (field == "name") return json_->name(name);
    if (field == "clusterUuid") return json_->name(cluster_uuid);
    if (field == "rateMbps") return rate(rate_per_gpu);
    return json_->unknown_field(field, "an NVLink domain");
  });
  return read &&
         add_name(domains_, TopologyBuilder::kMaxGpus, name, builder_.nvlink_domain(name, cluster_uuid, rate_per_gpu));
}

bool NativeReader::read_switch() {
  SwitchSpec spec;
  std::string name, description, group;
  const bool read = json_->object([&](std::string_view field) {
    if (field == "guid") return guid(spec.guid);
    if (field == "name") return json_->name(name);
    if (field == "description") return json_->name(description);
    if (field == "ports") return json_->whole_number(spec.ports, TopologyBuilder::kMaxPortsPerDevice);
    if (field == "subnet") return reference(spec.subnet, subnets_, "subnets");
    if (field == "rack") return reference(spec.rack, racks_, "racks");
    if (field == "site") return reference(spec.site, sites_, "sites");
    if (field == "group") return json_->name(group);
    if (field == "lid") return lid(spec.lid);
    if (field == "lmc") return lmc(spec.lmc);
    return json_->unknown_field(field, "a switch");
  });
  if (!read) return false;
  if (name.empty() && !spec.guid.known()) return json_->fail("a switch needs a guid or a name", "native.name");
  if (builder_.switch_count() >= TopologyBuilder::kMaxSwitches) return too_many("switches");
  if (!spec.subnet) spec.subnet = builder_.subnet(options_.subnet, options_.subnet_kind);
  spec.name = name;
  spec.description = description;
  spec.group = group;
  devices_.emplace_back(CableEnd(builder_.add_switch(spec), 0), spec.ports);
  return true;
}

bool NativeReader::read_link_spec() {
  LinkSpec spec;
  std::optional<RateMbps> given_rate;
  const bool read = json_->object([&](std::string_view field) {
    if (field == "kind") return word(spec.kind, parse_link_kind, "infiniband, ethernet or nvlink");
    if (field == "speed") return word(spec.speed, parse_link_speed, "SDR to XDR, FDR10 or other");
    if (field == "width") return json_->whole_number(spec.width, UINT16_MAX);
    if (field == "rateMbps") return rate(given_rate.emplace());
    if (field == "cableLengthM") return json_->decimal(spec.cable_length_m);
    return json_->unknown_field(field, "a link specification");
  });
  spec.rate = given_rate.value_or(infiniband_link(spec.width, spec.speed).rate);
  if (read && link_specs_.size() >= kMaxLinkSpecs) return too_many("link specifications");
  link_specs_.push_back(spec);
  return read;
}

bool NativeReader::read_link() {
  std::optional<CableEnd> a, b;
  std::size_t spec = 0;
  std::size_t column = 0;
  const bool read = json_->array([&] {
    switch (column++) {
      case 0:
        return row_device(a);
      case 1:
        return row_port(a);
      case 2:
        return row_device(b);
      case 3:
        return row_port(b);
      case 4:
        return json_->whole_number(spec, UINT32_MAX);
      default:
        return json_->fail_at(json_->value_offset(), "expected five numbers");
    }
  });
  if (!read) return false;
  if (column != 5) return json_->fail("expected five numbers");
  if (spec >= link_specs_.size()) {
    return json_->fail(fmt::format("there is no link specification {}", spec), "native.reference");
  }
  builder_.connect(*a, *b, link_specs_[spec]);
  return true;
}

bool NativeReader::row_device(std::optional<CableEnd>& end) {
  std::size_t device = 0;
  if (!json_->whole_number(device, UINT32_MAX)) return false;
  if (device >= devices_.size()) {
    return json_->fail(fmt::format("there is no device {}; there are {}, numbered from 0", device, devices_.size()),
                       "native.reference");
  }
  end = devices_[device].first;
  row_ports_ = devices_[device].second;
  return true;
}

bool NativeReader::row_port(std::optional<CableEnd>& end) {
  if (!json_->whole_number(end->port, TopologyBuilder::kMaxPortsPerDevice)) return false;
  return (end->port >= 1 && end->port <= row_ports_) ||
         json_->fail(fmt::format("the device has ports 1 to {}", row_ports_), "native.reference");
}

bool NativeReader::read_finding() {
  Finding finding;
  const auto text = [&](std::string& value) {
    return json_->string(value) && (value.size() <= kMaxText || json_->fail("a text of more than 16384 bytes"));
  };
  const bool read = json_->object([&](std::string_view field) {
    if (field == "code") return json_->name(finding.code);
    if (field == "severity") return word(finding.severity, parse_enum<Severity>, "info, warning or error");
    if (field == "message") return text(finding.message);
    if (field == "objects")
      return json_->array([&] {
        if (++finding_objects_ > kMaxObjectsOfFindings) return too_many("objects of findings");
        return text(finding.objects.emplace_back());
      });
    return json_->unknown_field(field, "a finding");
  });
  if (read) builder_.add_finding(std::move(finding));
  return read;
}

bool NativeReader::guid(Guid& value) {
  if (!json_->name(text_buffer_)) return false;
  const auto parsed = parse_guid(text_buffer_);
  if (!parsed) return json_->fail("expected a GUID of 1 to 16 hexadecimal digits");
  value = *parsed;
  return true;
}

bool NativeReader::rate(RateMbps& value) {
  std::uint64_t mbps = 0;
  if (!json_->whole_number(mbps, kMaxRateMbps)) return false;
  value = RateMbps(static_cast<std::int64_t>(mbps));
  return true;
}

bool NativeReader::too_many(std::string_view what) {
  return json_->too_large(fmt::format("more {} than are supported; see the limits in topology_builder.h", what));
}

Result<void> read_native_json(std::string_view text, const ReadOptions& options, TopologyBuilder& builder) {
  const auto plain = plain_text(text, options);
  if (!plain) return std::unexpected(plain.error());
  return NativeReader(*plain, options, builder).read();
}

}  // namespace railweave::fabric
