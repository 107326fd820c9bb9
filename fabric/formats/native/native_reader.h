// The reader of the native format, inside: one class, whose sections are read in native_json_reader.cc and whose hosts
// are read in native_hosts_reader.cc. Used through native_json.h alone.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/text/json_reader.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

// The ids of the things of one kind, by name.
template <class IdType>
class NativeNames {
 public:
  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  bool add(const std::string& name, IdType id) { return ids_.try_emplace(name, id).second; }
  [[nodiscard]] IdType find(std::string_view name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? IdType() : found->second;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, IdType, Hash, std::equal_to<>> ids_;
};

class NativeReader {
 public:
  NativeReader(std::string_view text, const ReadOptions& options, TopologyBuilder& builder)
      : text_(text), options_(options), builder_(builder), first_host_(builder.host_count()) {}

  Result<void> read();

 private:
  struct Section {
    std::string_view name;
    bool (NativeReader::*read_element)();
  };
  static const std::array<Section, 12> kSections;
  static constexpr std::size_t kAbsent = SIZE_MAX;

  // An adapter, or a GPU, while its fields come in, in any order.
  struct AdapterFields {
    HcaKind kind = HcaKind::host;
    Guid guid;
    std::string device;
    std::optional<std::string> description;
    std::vector<HcaPortSpec> ports;
  };
  struct GpuFields {
    DomainDraft domain;
    std::uint32_t clique = TopologyBuilder::kNoClique;
    std::vector<std::uint32_t> nics;
    std::size_t nics_offset = 0;  // in the text
  };

  // The first pass: is it a fabric of a version we know, which sections are there, and is it well-formed throughout.
  bool find_sections();
  [[nodiscard]] std::size_t offset_of(std::string_view name) const;

  // --- one element of a section
  bool read_subnet();
  bool read_rack();
  bool read_site();
  bool read_site_link();
  bool read_rail();
  bool read_domain();
  bool read_switch();
  bool read_host();
  bool read_lone_adapter();
  bool read_link_spec();
  bool read_link();
  bool read_finding();

  // --- parts of them
  bool read_adapter_fields();  // into adapter_
  bool read_port();            // of adapter_
  HcaDraft add_adapter(HostDraft host, std::string_view host_name, const AdapterFields& adapter);
  bool read_gpu(GpuFields& gpu);
  bool row_device(std::optional<CableEnd>& end);
  bool row_port(std::optional<CableEnd>& end);

  // --- values
  bool guid(Guid& value);
  bool lid(Lid& value) { return json_->whole_number(value, 0xbfff); }
  bool lmc(std::uint8_t& value) { return json_->whole_number(value, 7); }
  bool rate(RateMbps& value);
  bool too_many(std::string_view what);

  template <class Word>
  bool word(Word& value, std::optional<Word> (*parse)(std::string_view), std::string_view expected) {
    if (!json_->name(text_buffer_)) return false;
    const auto parsed = parse(text_buffer_);
    if (!parsed) return json_->fail("expected " + std::string(expected));
    value = *parsed;
    return true;
  }
  template <class IdType>
  bool reference(IdType& id, const NativeNames<IdType>& table, std::string_view section) {
    if (!json_->name(text_buffer_)) return false;
    id = table.find(text_buffer_);
    return id.valid() ||
           json_->fail("'" + text_buffer_ + "' is not in \"" + std::string(section) + "\"", "native.reference");
  }
  template <class IdType>
  bool add_name(NativeNames<IdType>& table, std::size_t most, const std::string& name, IdType id) {
    if (table.size() >= most) return too_many("names in one section");
    if (name.empty()) return json_->fail("a name is missing", "native.name");
    return table.add(name, id) || json_->fail("the name '" + name + "' is given twice", "native.name");
  }

  std::string_view text_;
  const ReadOptions& options_;
  TopologyBuilder& builder_;
  std::size_t first_host_;  // hosts before it come from other files
  JsonReader* json_ = nullptr;
  std::array<std::size_t, 12> offsets_{};  // of the sections
  Error error_;

  NativeNames<SubnetId> subnets_;
  NativeNames<RackId> racks_;
  NativeNames<SiteId> sites_;
  NativeNames<RailId> rails_;
  NativeNames<DomainDraft> domains_;
  std::vector<std::pair<CableEnd, unsigned>> devices_;  // and how many ports each has
  std::vector<LinkSpec> link_specs_;

  // Reused from one element to the next.
  std::string text_buffer_;
  AdapterFields adapter_;
  std::vector<AdapterFields> host_adapters_;
  std::vector<GpuFields> host_gpus_;
  std::vector<HcaDraft> drafts_;
  unsigned row_ports_ = 0;
  std::size_t finding_objects_ = 0;
  std::size_t site_links_ = 0;
};

}  // namespace railweave::fabric
