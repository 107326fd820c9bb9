#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "fabric/base/text/json_string.h"
#include "fabric/formats/native/native_json.h"

namespace railweave::fabric {
namespace {

// One object, field by field; fields with their default value are left out by the caller.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObject() { out_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  std::string& field(std::string_view name) {  // the value is to be appended to what this returns
    commas_(out_);
    out_ += '"';
    out_ += name;
    out_ += "\":";
    return out_;
  }
  void text(std::string_view name, std::string_view value) { append_json_string(field(name), value); }
  void key_and_text(std::string_view key, std::string_view value) {  // a key that needs escapes
    commas_(out_);
    append_json_string(out_, key);
    out_ += ':';
    append_json_string(out_, value);
  }
  void number(std::string_view name, std::uint64_t value) { append_json_number(field(name), value); }
  void guid(std::string_view name, Guid value) {
    if (value.known()) text(name, to_string(value));
  }

 private:
  std::string& out_;
  JsonCommas commas_;
};

class NativeWriter {
 public:
  NativeWriter(const Topology& topology, std::span<const Recabling> recablings,
               std::span<const DeviceExchange> exchanges)
      : topology_(topology) {
    for (const DeviceExchange& one : exchanges) exchanged_.emplace(one.accepted, &one);
    for (const Recabling& one : recablings) recabled_.emplace(one.link, one);
    out_.reserve(4096 + topology.hcas().size() * 144 + topology.gpus().size() * 48 + topology.links().size() * 26 +
                 topology.switches().size() * 128);
  }

  std::string write() && {
    out_ += "{\"railweave\":\"fabric\",\"version\":1";
    section("subnets", topology_.subnets(), [&](SubnetId subnet) {
      JsonObject object(out_);
      object.text("name", topology_.name(subnet));
      if (topology_.kind(subnet) != SubnetKind::unknown) object.text("kind", to_text(topology_.kind(subnet)));
    });
    section("racks", topology_.racks(), [&](RackId rack) { append_json_string(out_, topology_.name(rack)); });
    section("sites", topology_.sites(), [&](SiteId site) { append_json_string(out_, topology_.name(site)); });
    section("siteLinks", topology_.site_links(), [&](const SiteLink& link) { write_site_link(link); });
    if (!topology_.rails_inferred()) {
      section("rails", topology_.rails(), [&](RailId rail) { append_json_string(out_, topology_.name(rail)); });
    }
    section("nvlinkDomains", topology_.nvlink_domains(), [&](NvlinkDomainId domain) { write_domain(domain); });
    section("switches", topology_.switches(), [&](SwitchId sw) { write_switch(sw); });
    section("hosts", topology_.hosts(), [&](HostId host) { write_host(host); });
    write_lone_adapters();
    write_links();
    write_findings();
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  // "name":[ one element per line ], left out where there is none.
  template <class Range, class WriteElement>
  void section(std::string_view name, const Range& range, WriteElement write_element) {
    bool first = true;
    for (const auto element : range) {
      start_element(name, first);
      write_element(element);
    }
    if (!first) out_ += "\n]";
  }
  void start_element(std::string_view name, bool& first) {
    if (first) {
      out_ += ",\n\"";
      out_ += name;
      out_ += "\":[\n";
    } else {
      out_ += ",\n";
    }
    first = false;
  }

  void write_domain(NvlinkDomainId domain) {
    JsonObject object(out_);
    object.text("name", topology_.name(domain));
    if (!topology_.cluster_uuid(domain).empty()) object.text("clusterUuid", topology_.cluster_uuid(domain));
    const auto rate = topology_.rate_per_gpu(domain).value();
    if (rate != 0) object.number("rateMbps", static_cast<std::uint64_t>(rate));
  }

  void write_site_link(const SiteLink& link) {
    JsonObject object(out_);
    object.text("a", topology_.name(link.a));
    object.text("b", topology_.name(link.b));
    if (link.links != 1) object.number("links", link.links);
    object.number("rateMbps", static_cast<std::uint64_t>(link.rate.value()));
    if (link.length_km != 0) append_json_decimal(object.field("lengthKm"), link.length_km);
    if (link.latency_us != link.usual_latency_us()) append_json_decimal(object.field("latencyUs"), link.latency_us);
  }

  void write_switch(SwitchId sw) {
    JsonObject object(out_);
    const DeviceExchange* const other = exchanged(topology_.guid(sw));
    object.guid("guid", other == nullptr ? topology_.guid(sw) : other->found);
    object.text("name", topology_.name(sw));
    if (topology_.description(sw) != topology_.name(sw)) object.text("description", topology_.description(sw));
    object.number("ports", topology_.ports(sw).size());
    object.text("subnet", topology_.name(topology_.subnet(sw)));
    if (topology_.rack(sw)) object.text("rack", topology_.name(topology_.rack(sw)));
    if (topology_.site(sw)) object.text("site", topology_.name(topology_.site(sw)));
    if (!topology_.group(sw).empty()) object.text("group", topology_.group(sw));
    const Lid lid =
        other != nullptr && !other->ports.empty() && other->ports[0].lid != 0 ? other->ports[0].lid : topology_.lid(sw);
    if (lid != 0) object.number("lid", lid);
    if (topology_.lmc(sw) != 0) object.number("lmc", topology_.lmc(sw));
  }

  void write_host(HostId host) {
    JsonObject object(out_);
    object.text("name", topology_.name(host));
    if (topology_.kind(host) != HostKind::compute) object.text("kind", to_text(topology_.kind(host)));
    if (topology_.rack(host)) object.text("rack", topology_.name(topology_.rack(host)));
    if (topology_.site(host)) object.text("site", topology_.name(topology_.site(host)));
    if (!topology_.labels(host).empty()) {
      object.field("labels");
      JsonObject labels(out_);
      for (const auto& label : topology_.labels(host)) {
        labels.key_and_text(topology_.text(label.key), topology_.text(label.value));
      }
    }
    if (!topology_.hcas(host).empty()) {
      object.field("adapters") += '[';
      JsonCommas commas;
      for (const auto hca : topology_.hcas(host)) {
        commas(out_);
        write_adapter(hca);
      }
      out_ += ']';
    }
    if (!topology_.gpus(host).empty()) {
      object.field("gpus") += '[';
      JsonCommas commas;
      for (const auto gpu : topology_.gpus(host)) {
        commas(out_);
        write_gpu(host, gpu);
      }
      out_ += ']';
    }
  }

  void write_adapter(HcaId hca) {
    JsonObject object(out_);
    if (topology_.kind(hca) != HcaKind::host) object.text("kind", to_text(topology_.kind(hca)));
    const DeviceExchange* const other = exchanged(topology_.guid(hca));
    object.guid("guid", other == nullptr ? topology_.guid(hca) : other->found);
    const auto device = topology_.device(hca);
    if (!device.empty()) object.text("device", device);
    // "host device", as tools set it, goes without saying.
    usual_description_.clear();
    if (topology_.host(hca) && !device.empty()) {
      usual_description_.append(topology_.name(topology_.host(hca))).append(" ").append(device);
    }
    if (topology_.description(hca) != usual_description_) object.text("description", topology_.description(hca));
    object.field("ports") += '[';
    JsonCommas commas;
    for (const auto port : topology_.ports(hca)) {
      commas(out_);
      JsonObject fields(out_);
      const unsigned number = topology_.number(port);
      const auto now =
          other != nullptr && number <= other->ports.size() ? other->ports[number - 1U] : DeviceExchange::Port{};
      fields.guid("guid", other == nullptr ? topology_.port_guid(port) : now.guid);
      const Lid lid = now.lid != 0 ? now.lid : topology_.lid(port);
      if (lid != 0) fields.number("lid", lid);
      if (topology_.lmc(port) != 0) fields.number("lmc", topology_.lmc(port));
      if (!topology_.rails_inferred() && topology_.rail(port))
        fields.text("rail", topology_.name(topology_.rail(port)));
    }
    out_ += ']';
  }

  void write_gpu(HostId host, GpuId gpu) {
    JsonObject object(out_);
    if (const auto domain = topology_.nvlink_domain(gpu)) object.text("domain", topology_.name(domain));
    if (const auto clique = topology_.clique(gpu)) object.number("clique", topology_.number(clique));
    if (topology_.nics(gpu).empty()) return;
    object.field("nics") += '[';
    JsonCommas commas;
    for (const auto nic : topology_.nics(gpu)) {
      if (topology_.host(nic) != host) continue;
      commas(out_);
      append_json_number(out_, nic.index() - topology_.hcas(host).front().index());
    }
    out_ += ']';
  }

  void write_lone_adapters() {
    bool first = true;
    for (const auto hca : topology_.hcas()) {
      if (topology_.host(hca)) continue;
      start_element("adapters", first);
      write_adapter(hca);
    }
    if (!first) out_ += "\n]";
  }

  // Switches and adapters in one numbering. Adapters without a host have the last ids, as they stand last in the file.
  void append_end(PortId port) {
    const SwitchId sw = topology_.switch_of(port);
    append_json_number(out_, sw ? sw.index() : topology_.switches().size() + topology_.hca_of(port).index());
    out_ += ',';
    append_json_number(out_, topology_.number(port));
  }

  void write_links() {
    using SpecKey = std::tuple<LinkKind, LinkSpeed, std::uint16_t, std::int64_t, float>;
    std::map<SpecKey, std::size_t> spec_numbers;
    std::vector<std::size_t> spec_of_link;
    std::vector<LinkSpec> specs;
    for (const auto link : topology_.links()) {
      if (topology_.kind(link) == LinkKind::nvlink && !topology_.is_switch_port(topology_.a(link)) &&
          !topology_.is_hca_port(topology_.a(link))) {
        break;  // the links of NVLink domains come last and follow from the GPUs
      }
      const auto recabled = recabled_.find(link);
      LinkSpec spec = recabled == recabled_.end() ? topology_.spec(link) : recabled->second.spec;
      if (!std::isfinite(spec.cable_length_m) || spec.cable_length_m < 0) spec.cable_length_m = 0;
      const SpecKey key{spec.kind, spec.speed, spec.width, spec.rate.value(), spec.cable_length_m};
      const auto [at, is_new] = spec_numbers.try_emplace(key, specs.size());
      if (is_new) specs.push_back(spec);
      spec_of_link.push_back(at->second);
    }
    section("linkSpecs", specs, [&](const LinkSpec& spec) { write_spec(spec); });
    bool first = true;
    for (std::size_t i = 0; i < spec_of_link.size(); ++i) {
      const LinkId link(i);
      start_element("links", first);
      out_ += '[';
      const auto recabled = recabled_.find(link);
      append_end(recabled == recabled_.end() ? topology_.a(link) : recabled->second.a);
      out_ += ',';
      append_end(recabled == recabled_.end() ? topology_.b(link) : recabled->second.b);
      out_ += ',';
      append_json_number(out_, spec_of_link[i]);
      out_ += ']';
    }
    if (!first) out_ += "\n]";
  }

  void write_spec(const LinkSpec& spec) {
    JsonObject object(out_);
    if (spec.kind != LinkKind::infiniband) object.text("kind", to_string(spec.kind));
    if (spec.speed != LinkSpeed::unknown) object.text("speed", to_string(spec.speed));
    if (spec.width != 0) object.number("width", spec.width);
    if (spec.rate != infiniband_link(spec.width, spec.speed).rate) {
      object.number("rateMbps", static_cast<std::uint64_t>(spec.rate.value()));
    }
    if (spec.cable_length_m != 0) append_json_decimal(object.field("cableLengthM"), spec.cable_length_m);
  }

  void write_findings() {
    bool first = true;
    for (const auto& finding : topology_.source_findings()) {
      if (finding.code == "duplicateGuid") continue;
      start_element("findings", first);
      JsonObject object(out_);
      object.text("code", finding.code);
      object.text("severity", to_string(finding.severity));
      object.text("message", finding.message);
      if (finding.objects.empty()) continue;
      object.field("objects") += '[';
      JsonCommas commas;
      for (const auto& name : finding.objects) {
        commas(out_);
        append_json_string(out_, name);
      }
      out_ += ']';
    }
    if (!first) out_ += "\n]";
  }

  // What stands in the place of the device; null: it is itself.
  [[nodiscard]] const DeviceExchange* exchanged(Guid device) const {
    const auto at = device.known() ? exchanged_.find(device) : exchanged_.end();
    return at == exchanged_.end() ? nullptr : at->second;
  }

  const Topology& topology_;
  std::map<LinkId, Recabling> recabled_;
  std::map<Guid, const DeviceExchange*> exchanged_;
  std::string out_;
  std::string usual_description_;
};

}  // namespace

std::string write_native_json(const Topology& topology) { return NativeWriter(topology, {}, {}).write(); }

std::string write_recabled_json(const Topology& topology, std::span<const Recabling> recablings,
                                std::span<const DeviceExchange> exchanges) {
  return NativeWriter(topology, recablings, exchanges).write();
}

}  // namespace railweave::fabric
