#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/formats/native/native_reader.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxLabels = 256;  // of one host

}  // namespace

bool NativeReader::read_port() {
  HcaPortSpec port;
  const bool read = json_->object([&](std::string_view field) {
    if (field == "guid") return guid(port.guid);
    if (field == "lid") return lid(port.lid);
    if (field == "lmc") return lmc(port.lmc);
    if (field == "rail") return reference(port.rail, rails_, "rails");
    return json_->unknown_field(field, "a port");
  });
  if (!read) return false;
  if (adapter_.ports.size() >= TopologyBuilder::kMaxPortsPerDevice) return too_many("ports of one adapter");
  adapter_.ports.push_back(port);
  return true;
}

bool NativeReader::read_adapter_fields() {
  adapter_.kind = HcaKind::host;
  adapter_.guid = Guid();
  adapter_.device.clear();
  adapter_.description.reset();
  adapter_.ports.clear();
  return json_->object([&](std::string_view field) {
    if (field == "guid") return guid(adapter_.guid);
    if (field == "device") return json_->name(adapter_.device);
    if (field == "description") return json_->name(adapter_.description.emplace());
    if (field == "ports") return json_->array([&] { return read_port(); });
    if (field == "kind") return word(adapter_.kind, parse_enum<HcaKind>, "host, aggregation or router");
    return json_->unknown_field(field, "an adapter");
  });
}

HcaDraft NativeReader::add_adapter(HostDraft host, std::string_view host_name, const AdapterFields& adapter) {
  const std::string description = adapter.description.value_or(
      host && !adapter.device.empty() ? fmt::format("{} {}", host_name, adapter.device) : std::string());
  const auto ports = static_cast<unsigned>(adapter.ports.size());
  const HcaDraft draft = builder_.add_hca({.guid = adapter.guid,
                                           .kind = adapter.kind,
                                           .host = host,
                                           .device = adapter.device,
                                           .description = description,
                                           .ports = ports});
  for (unsigned port = 1; port <= ports; ++port) builder_.set_port(draft, port, adapter.ports[port - 1]);
  devices_.emplace_back(CableEnd(draft, 0), ports);
  return draft;
}

bool NativeReader::read_lone_adapter() {
  if (!read_adapter_fields()) return false;
  if (builder_.hca_count() >= TopologyBuilder::kMaxHcas) return too_many("adapters");
  add_adapter({}, {}, adapter_);
  return true;
}

bool NativeReader::read_gpu(GpuFields& gpu) {
  gpu.domain = DomainDraft();
  gpu.clique = TopologyBuilder::kNoClique;
  gpu.nics.clear();
  return json_->object([&](std::string_view field) {
    if (field == "domain") return reference(gpu.domain, domains_, "nvlinkDomains");
    if (field == "clique") return json_->whole_number(gpu.clique, UINT32_MAX - 1);
    if (field == "nics") {
      gpu.nics_offset = json_->value_offset();
      return json_->array([&] {
        if (gpu.nics.size() >= TopologyBuilder::kMaxPortsPerDevice) return too_many("nics of one GPU");
        return json_->whole_number(gpu.nics.emplace_back(), UINT32_MAX);
      });
    }
    return json_->unknown_field(field, "a GPU");
  });
}

bool NativeReader::read_host() {
  std::string name;
  HostKind kind = HostKind::compute;
  RackId rack;
  SiteId site;
  std::vector<std::pair<std::string, std::string>> labels;
  std::size_t adapters = 0;
  std::size_t gpus = 0;
  const bool read = json_->object([&](std::string_view field) {
    if (field == "name") return json_->name(name);
    if (field == "kind") return word(kind, parse_enum<HostKind>, "compute, storage, management or unnamed");
    if (field == "rack") return reference(rack, racks_, "racks");
    if (field == "site") return reference(site, sites_, "sites");
    if (field == "labels") {
      return json_->entries([&](std::string_view key) {
        if (labels.size() >= kMaxLabels) return too_many("labels of one host");
        if (!is_clean_name(key) || key.size() > kMaxStoredNameBytes) return json_->fail("expected a label's name");
        labels.emplace_back(key, std::string());
        return json_->name(labels.back().second);
      });
    }
    if (field == "adapters") {
      return json_->array([&] {
        if (!read_adapter_fields()) return false;
        if (builder_.hca_count() + adapters >= TopologyBuilder::kMaxHcas) return too_many("adapters");
        if (host_adapters_.size() == adapters) host_adapters_.emplace_back();
        std::swap(host_adapters_[adapters++], adapter_);
        return true;
      });
    }
    if (field == "gpus") {
      return json_->array([&] {
        if (gpus >= TopologyBuilder::kMaxGpusPerHost) return too_many("GPUs of one host");
        if (host_gpus_.size() == gpus) host_gpus_.emplace_back();
        return read_gpu(host_gpus_[gpus++]);
      });
    }
    return json_->unknown_field(field, "a host");
  });
  if (!read) return false;
  if (name.empty()) return json_->fail("a host needs a name", "native.name");
  if (builder_.host_count() >= TopologyBuilder::kMaxHosts) return too_many("hosts");
  const std::size_t hosts_before = builder_.host_count();
  const HostDraft host = builder_.host(name, kind);
  if (builder_.host_count() == hosts_before && host.index() >= first_host_) {
    return json_->fail("the host '" + name + "' is given twice", "native.name");
  }
  if (rack) builder_.set_rack(host, rack);
  if (site) builder_.set_site(host, site);
  for (const auto& [key, value] : labels) builder_.add_label(host, key, value);
  drafts_.clear();
  for (std::size_t i = 0; i < adapters; ++i) drafts_.push_back(add_adapter(host, name, host_adapters_[i]));
  for (std::size_t i = 0; i < gpus; ++i) {
    const auto& fields = host_gpus_[i];
    const GpuDraft gpu = builder_.add_gpu(host);
    if (fields.domain) builder_.set_nvlink_domain(gpu, fields.domain, fields.clique);
    for (const auto nic : fields.nics) {
      if (nic >= drafts_.size()) {
        return json_->fail_at(
            fields.nics_offset,
            fmt::format("there is no adapter {}; the host has {}, numbered from 0", nic, drafts_.size()),
            "native.reference");
      }
      builder_.add_nic(gpu, drafts_[nic]);
    }
  }
  return true;
}

}  // namespace railweave::fabric
