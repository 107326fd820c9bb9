#include "fabric/formats/infiniband/ufm_links.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "fabric/base/whole_number.h"
#include "fabric/formats/infiniband/link_text.h"
#include "fabric/formats/infiniband/subnet_draft.h"
#include "fabric/formats/text/json_reader.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {
namespace {

// The fields of one end, and those that both share.
struct ListedLinkEnd {
  std::string guid, port, port_name, node;
};
struct ListedLink {
  ListedLinkEnd source, destination;
  std::string width, name;
};

struct LinkEnd {
  std::uint32_t device = 0;
  Guid guid;
  unsigned port = 0;
  bool of_switch = false;
};

class UfmLinksReader {
 public:
  UfmLinksReader(std::string_view text, const ReadOptions& options, LinkSpeed speed, TopologyBuilder& builder)
      : json_(text, options.source), options_(options), speed_(speed), builder_(builder) {}

  Result<void> read() {
    const bool ok = json_.array([&] {
      ++rows_;
      if (json_.peek() != '{') {
        leave_out({});
        return json_.skip_value();
      }
      ListedLink link;
      if (!read_link(link)) return false;
      add(link);
      return !draft_.over_limit() || json_.too_large("more links than are supported");
    });
    if (!ok || !json_.end()) return std::unexpected(json_.error());
    if (draft_.device_count() == 0) {
      return fail(ErrorKind::malformed, "ufm.noLinks", "no link has two ends with a GUID and a port",
                  location_text(options_.source, 1, 1), "is it the answer to GET /ufmRest/resources/links?");
    }
    tell_findings();
    return std::move(draft_).move_into(options_, builder_);
  }

 private:
  bool read_link(ListedLink& link) {
    return json_.entries([&](std::string_view key) {
      std::string* text = text_of(link, key);
      if (text == nullptr) return json_.skip_value();
      if (json_.peek() == '"') return json_.string(*text);
      std::uint64_t number = 0;
      if (json_.peek() < '0' || json_.peek() > '9') return json_.skip_value();  // null
      const bool ok = json_.whole_number(number, UINT32_MAX);
      *text = fmt::format("{}", number);
      return ok;
    });
  }

  static std::string* text_of(ListedLink& link, std::string_view key) {
    if (key == "width") return &link.width;
    if (key == "name") return &link.name;
    const bool source = key.starts_with("source_");
    if (!source && !key.starts_with("destination_")) return nullptr;
    key.remove_prefix(key.find('_') + 1);
    ListedLinkEnd& end = source ? link.source : link.destination;
    const std::pair<std::string_view, std::string*> fields[] = {
        {"guid", &end.guid}, {"port", &end.port}, {"port_dname", &end.port_name}, {"port_node_description", &end.node}};
    const auto found = std::ranges::find(fields, key, &std::pair<std::string_view, std::string*>::first);
    return found == std::ranges::end(fields) ? nullptr : found->second;
  }

  void leave_out(const std::string& name) {
    if (++unreadable_count_ > kMaxFindingObjects) return;
    unreadable_.push_back(name.empty() ? fmt::format("link {} of the list", rows_) : escaped_name(name));
  }

  void add(const ListedLink& link) {
    const auto a = end_of(link.source), b = end_of(link.destination);
    if (!a || !b) return leave_out(link.name);
    // "4x", and "IB_4x" of older versions.
    const std::string_view text = link.width;
    const std::uint16_t told = width_of_text(text.starts_with("IB_") ? text.substr(3) : text);
    const LinkSpec spec = infiniband_link(told == 0 && speed_ != LinkSpeed::unknown ? 4 : told, speed_);
    ++links_;
    add_end(*a, *b, spec);
    add_end(*b, *a, spec);  // a link speaks for both ends
  }

  void add_end(const LinkEnd& end, const LinkEnd& peer, const LinkSpec& spec) {
    draft_.add_cable_end({.device = end.device,
                          .port = end.port,
                          .peer = peer.device,
                          .peer_port = peer.port,
                          .guid = end.of_switch ? Guid() : end.guid,
                          .peer_guid = peer.of_switch ? Guid() : peer.guid,
                          .lid = 0,
                          .lmc = 0,
                          .peer_lid = 0,
                          .link = spec});
  }

  std::optional<LinkEnd> end_of(const ListedLinkEnd& listed) {
    const auto guid = parse_guid(listed.guid);
    const auto port = whole_number<unsigned>(listed.port, TopologyBuilder::kMaxPortsPerDevice);
    if (!guid || !guid->known() || !port || *port == 0) return std::nullopt;
    const bool of_switch = !listed.port_name.starts_with("HCA");
    const auto [at, is_new] = by_guid_.try_emplace(*guid, static_cast<std::uint32_t>(draft_.device_count()));
    if (is_new) {
      // A switch's description ends with its port; drafts keep views.
      const std::string_view node = listed.node;
      const auto colon = node.rfind(':');
      const std::string& name =
          names_.emplace_back(of_switch && colon != std::string_view::npos ? node.substr(0, colon) : node);
      draft_.add_device({.type = of_switch ? NetlistDevice::network_switch : NetlistDevice::adapter,
                         .guid = *guid,
                         .ports = *port,
                         .description = name,
                         .has_section = true});
    }
    auto& device = draft_.device(at->second);
    device.ports = std::max(device.ports, *port);
    return LinkEnd{at->second, *guid, *port, device.type == NetlistDevice::network_switch};
  }

  void tell_findings() {
    if (unreadable_count_ > 0) {
      builder_.add_finding({"unreadableLink", Severity::warning,
                            fmt::format("{}: {} an end without GUID or port, and left out", options_.source,
                                        plural(unreadable_count_, "link has", "links have")),
                            std::move(unreadable_)});
    }
    if (speed_ == LinkSpeed::unknown) return;
    builder_.add_finding({"speedAssumed",
                          Severity::warning,
                          fmt::format("{} tells no speed of its {}: {} is assumed. Predicted times and bandwidths are "
                                      "as good as that; UFM's list of ports (GET /ufmRest/resources/ports) has them",
                                      options_.source, plural(links_, "link", "links"), to_string(speed_)),
                          {options_.source}});
  }

  JsonReader json_;
  const ReadOptions& options_;
  LinkSpeed speed_;
  TopologyBuilder& builder_;
  SubnetDraft draft_;
  std::unordered_map<Guid, std::uint32_t> by_guid_;
  std::deque<std::string> names_;
  std::vector<std::string> unreadable_;
  std::size_t rows_ = 0, unreadable_count_ = 0, links_ = 0;
};

}  // namespace

Result<void> read_ufm_links(std::string_view text, const ReadOptions& options, LinkSpeed speed,
                            TopologyBuilder& builder) {
  return UfmLinksReader(text, options, speed, builder).read();
}

}  // namespace railweave::fabric
