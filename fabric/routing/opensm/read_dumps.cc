#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/routing/opensm/opensm_dumps.h"

namespace railweave::fabric {

namespace {

constexpr std::size_t kMaxLineBytes = 4096;

std::unexpected<Error> malformed(std::size_t line, const std::string& what) {
  return fail(ErrorKind::malformed, "routing.badDump", what, "line " + std::to_string(line),
              "expected opensm.fdbs or opensm-lfts.dump as `opensm -D 0x43` writes them");
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Takes the first word off; empty: there is none.
std::string_view word(std::string_view& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return text = {};
  text.remove_prefix(begin);
  const auto end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view first = text.substr(0, end);
  text.remove_prefix(end);
  return first;
}

// What stands after `key` up to a blank or one of the other ends.
std::string_view after(std::string_view text, std::string_view key, std::string_view ends = " \t") {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find_first_of(ends));
}

std::string_view quoted(std::string_view text, char open, char close) {
  const auto begin = text.find(open);
  const auto end = text.rfind(close);
  if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) return {};
  return text.substr(begin + 1, end - begin - 1);
}

// Calls each(line, its number) without line ends; stops at the first error.
template <class Each>
Result<void> for_each_line(std::string_view text, Each each) {
  std::size_t count = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++count;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.size() > kMaxLineBytes) return malformed(count, "a line of more than 4,096 bytes");
    if (Result<void> done = each(line, count); !done) return done;
  }
  return {};
}

// Things of the fabric by GUID, or by name where only one has it.
class Finder {
 public:
  explicit Finder(const RoutingScope& scope) : scope_(scope), topology_(scope.topology()) {
    for (const DestinationId id : scope.destinations()) {
      const Destination& d = scope.destination(id);
      if (!d.port || d.lid_offset != 0) continue;
      by_guid_.emplace(topology_.port_guid(d.port).value(), id);
      const HcaId hca = topology_.hca_of(d.port);
      const std::string_view host = topology_.host(hca) ? topology_.name(topology_.host(hca)) : std::string_view();
      add_name(topology_.description(hca), id);
      if (host != topology_.description(hca)) add_name(host, id);
    }
  }
  [[nodiscard]] SwitchId network_switch(std::uint64_t guid, std::string_view name) const {
    if (const SwitchId sw = topology_.find_switch(Guid(guid))) return sw;
    return name.empty() ? SwitchId() : topology_.find_switch(name);
  }
  [[nodiscard]] DestinationId end_port(std::uint64_t guid, std::string_view name) const {
    if (const auto found = by_guid_.find(guid); found != by_guid_.end()) return found->second;
    const auto named = by_name_.find(name);
    return named == by_name_.end() ? DestinationId() : named->second;
  }
  // The one management destination of a switch, offset 0; none: not routed.
  [[nodiscard]] DestinationId management(SwitchId sw) const {
    const Plane& plane = scope_.plane(scope_.plane_of(sw));
    const std::uint32_t home = plane.home_of[scope_.local(sw)];
    if (home == Plane::kNone) return {};
    for (const Segment& segment : plane.segments_of(plane.homes[home])) {
      if (segment.kind == DestinationKind::switch_management && segment.lid_offset == 0)
        return plane.destination(segment.first);
    }
    return {};
  }

 private:
  void add_name(std::string_view name, DestinationId id) {
    if (name.empty()) return;
    const auto [at, is_new] = by_name_.emplace(name, id);
    if (!is_new) at->second = DestinationId();  // ambiguous
  }
  const RoutingScope& scope_;
  const Topology& topology_;
  std::unordered_map<std::uint64_t, DestinationId> by_guid_;
  std::unordered_map<std::string_view, DestinationId> by_name_;
};

// What a subnet list says of LIDs: switches found by GUID (their names may be needed for made-up ones) and end ports.
struct SubnetList {
  std::unordered_map<std::uint64_t, std::string_view> switch_names;  // by GUID
  std::unordered_map<std::uint16_t, DestinationId> lids;

  void read(std::string_view text, const Finder& finder) {
    (void)for_each_line(text, [&](std::string_view line, std::size_t) -> Result<void> {
      const auto middle = line.find(" } { ");
      if (middle == std::string_view::npos) return {};
      for (const std::string_view end : {line.substr(0, middle), line.substr(middle + 5)}) {
        const auto guid = number(after(end, "PortGUID:"), 16), lid = number(after(end, "LID:"), 16);
        if (!guid || !lid || *lid == 0 || *lid > RoutingScope::kLastLid) continue;
        const std::string_view name = quoted(end.substr(0, end.find(" LID:")), '{', '}');
        const std::string_view own = name.substr(name.starts_with("{") ? 1 : 0);
        const bool is_switch = end.find("SW Ports:") != std::string_view::npos;
        if (is_switch) switch_names.emplace(*guid, own);
        const SwitchId sw = is_switch ? finder.network_switch(*guid, own) : SwitchId();
        const DestinationId id = !is_switch ? finder.end_port(*guid, own)
                                 : sw       ? finder.management(sw)
                                            : DestinationId();
        if (id) lids.emplace(static_cast<std::uint16_t>(*lid), id);
      }
      return {};
    });
  }
};

}  // namespace

Result<ReadTables> read_tables(const RoutingScopePtr& scope, std::string_view text, std::string_view subnet_list) {
  const Finder finder(*scope);
  SubnetList subnet;
  subnet.read(subnet_list, finder);
  std::unordered_map<std::uint32_t, DestinationId> scope_lids;  // by subnet and LID
  const auto subnet_of = [&](SwitchId sw) {
    const SubnetId id = scope->topology().subnet(sw);
    return id ? static_cast<std::uint32_t>(id.index()) : UINT16_MAX;
  };
  for (const DestinationId id : scope->destinations()) {
    if (const Lid lid = scope->lid(id); lid != 0)
      scope_lids.emplace(subnet_of(scope->destination(id).home) << 16U | lid, id);
  }

  ReadTables read{ForwardingTables(scope), 0, 0, 0};
  std::vector<PlaneTables> planes;
  for (const PlaneId id : scope->planes()) {
    const Plane& plane = scope->plane(id);
    PlaneTables& tables = planes.emplace_back(plane.switch_count(), plane.destination_count(), plane.max_ports);
    for (std::size_t s = 0; s < plane.switch_count() && plane.destination_count() > 0; ++s) {
      if (tables.wide()) {
        std::fill_n(tables.fresh_row<std::uint16_t>(s), plane.destination_count(), UINT16_MAX);
      } else {
        std::fill_n(tables.fresh_row<std::uint8_t>(s), plane.destination_count(), UINT8_MAX);
      }
    }
  }
  std::vector<std::optional<PlaneTables::Editor>> editors(planes.size());
  SwitchId sw;
  bool in_switch = false;
  const auto set = [&](DestinationId id, std::uint16_t port) {
    if (!sw) return;
    if (!id || scope->plane_of(id) != scope->plane_of(sw)) {
      ++read.unknown_lids;
      return;
    }
    auto& editor = editors[scope->plane_of(sw).index()];
    if (!editor) editor.emplace(planes[scope->plane_of(sw).index()]);
    editor->set(scope->local(sw), scope->local(id), port);
    ++read.entries;
  };
  const auto begin_switch = [&](std::uint64_t guid, std::string_view name) {
    in_switch = true;
    if (name.empty()) {
      if (const auto known = subnet.switch_names.find(guid); known != subnet.switch_names.end()) name = known->second;
    }
    sw = finder.network_switch(guid, name);
    if (!sw) ++read.unknown_switches;
  };
  const auto by_lid = [&](std::uint16_t lid) {
    if (const auto found = subnet.lids.find(lid); found != subnet.lids.end()) return found->second;
    if (!subnet.lids.empty() || !sw) return DestinationId();
    const auto found = scope_lids.find(subnet_of(sw) << 16U | lid);
    return found == scope_lids.end() ? DestinationId() : found->second;
  };
  const auto done = for_each_line(text, [&](std::string_view line, std::size_t at) -> Result<void> {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return {};
    if (const auto found = line.find("Switch 0x"); found != std::string_view::npos && !line.starts_with("0x")) {
      const auto guid = number(after(line, "Switch ", " \t,"), 16);
      if (!guid) return malformed(at, "a switch without a GUID");
      begin_switch(*guid, {});
      return {};
    }
    if (line.starts_with("Unicast lids")) {
      const auto guid = number(after(line, "guid ", " \t("), 16);
      if (!guid) return malformed(at, "a switch without a GUID");
      begin_switch(*guid, quoted(line, '\'', '\''));
      return {};
    }
    if (!line.starts_with("0x")) return {};  // headings and totals
    if (!in_switch) return malformed(at, "an entry before any switch");
    std::string_view rest = line;
    const auto lid = number(word(rest), 16);
    if (!lid || *lid == 0 || *lid > RoutingScope::kLastLid) return malformed(at, "no unicast LID");
    std::string_view port_text = word(rest);
    const bool fdbs = port_text == ":";
    if (fdbs) port_text = word(rest);
    std::uint16_t port = kNoPort;
    if (port_text != "UNREACHABLE") {
      const auto value = number(port_text, 10);
      if (!value || *value > UINT8_MAX) return malformed(at, "no port number");
      port = *value == UINT8_MAX ? kNoPort : static_cast<std::uint16_t>(*value);
    }
    const std::string_view owner = rest;
    const auto guid = number(after(owner, "portguid ", " \t:"), 16);
    if (!fdbs && guid) {
      const std::string_view name = quoted(owner, '\'', '\'');
      const bool is_switch = owner.find("# Switch") != std::string_view::npos;
      const SwitchId other = is_switch ? finder.network_switch(*guid, name) : SwitchId();
      set(is_switch ? (other ? finder.management(other) : DestinationId()) : finder.end_port(*guid, name), port);
    } else {
      set(by_lid(static_cast<std::uint16_t>(*lid)), port);
    }
    return {};
  });
  if (!done) return std::unexpected(done.error());
  if (read.entries == 0) {
    return fail(ErrorKind::invalid, "routing.foreignDump", "the dump has no entry for any port of this fabric", {},
                "give the opensm-subnet.lst of the same run as well, or an opensm-lfts.dump");
  }
  editors.clear();
  for (const PlaneId id : scope->planes()) read.tables.set_plane(id, std::move(planes[id.index()]));
  return read;
}

}  // namespace railweave::fabric
