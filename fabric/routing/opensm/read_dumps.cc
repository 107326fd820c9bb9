#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/routing/opensm/dump_text.h"
#include "fabric/routing/opensm/dumped_ports.h"
#include "fabric/routing/opensm/opensm_dumps.h"

namespace railweave::fabric {

namespace {

std::vector<PlaneTables> empty_tables(const RoutingScope& scope) {
  std::vector<PlaneTables> planes;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    PlaneTables& tables = planes.emplace_back(plane.switch_count(), plane.destination_count(), plane.max_ports);
    for (std::size_t s = 0; s < plane.switch_count() && plane.destination_count() > 0; ++s) {
      if (tables.wide()) {
        std::fill_n(tables.fresh_row<std::uint16_t>(s), plane.destination_count(), UINT16_MAX);
      } else {
        std::fill_n(tables.fresh_row<std::uint8_t>(s), plane.destination_count(), UINT8_MAX);
      }
    }
  }
  return planes;
}

// Reads a dump line by line: the heading of a switch, then its entries.
class DumpReader {
 public:
  DumpReader(const RoutingScopePtr& scope, std::string_view subnet_list)
      : scope_(*scope),
        ports_(scope_),
        lids_(scope_, ports_, subnet_list),
        read_{ForwardingTables(scope), 0, std::vector<std::size_t>(scope->planes().size()), 0, 0},
        planes_(empty_tables(scope_)),
        editors_(planes_.size()) {}

  Result<void> line(std::string_view line, std::size_t number) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return {};
    if (const auto found = line.find("Switch 0x"); found != std::string_view::npos && !line.starts_with("0x")) {
      return heading(parse_number(text_after(line, "Switch ", " \t,"), 16), {}, number);
    }
    if (line.starts_with("Unicast lids")) {
      return heading(parse_number(text_after(line, "guid ", " \t("), 16), text_between(line, '\'', '\''), number);
    }
    if (!line.starts_with("0x")) return {};  // column titles and totals
    if (!in_switch_) return malformed_dump(number, "an entry before any switch");
    return entry(line, number);
  }

  Result<ReadTables> finish() && {
    if (read_.entries == 0) {
      return fail(ErrorKind::invalid, "routing.foreignDump", "the dump has no entry for any port of this fabric", {},
                  "give the opensm-subnet.lst of the same run as well, or an opensm-lfts.dump");
    }
    editors_.clear();
    for (const PlaneId id : scope_.planes()) read_.tables.set_plane(id, std::move(planes_[id.index()]));
    return std::move(read_);
  }

 private:
  Result<void> heading(std::optional<std::uint64_t> guid, std::string_view name, std::size_t number) {
    if (!guid) return malformed_dump(number, "a switch without a GUID");
    in_switch_ = true;
    sw_ = ports_.network_switch(*guid, name.empty() ? lids_.switch_name(*guid) : name);
    if (!sw_) ++read_.unknown_switches;
    return {};
  }

  // opensm.fdbs:      0x0001 : 001  : 02   : yes
  // opensm-lfts.dump: 0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'H-1'
  Result<void> entry(std::string_view rest, std::size_t number) {
    const auto lid = parse_number(take_word(rest), 16);
    if (!lid || *lid == 0 || *lid > RoutingScope::kLastLid) return malformed_dump(number, "no unicast LID");
    std::string_view port_text = take_word(rest);
    const bool fdbs = port_text == ":";
    if (fdbs) port_text = take_word(rest);
    std::uint16_t port = kNoPort;
    if (port_text != "UNREACHABLE") {
      const auto value = parse_number(port_text, 10);
      if (!value || *value > UINT8_MAX) return malformed_dump(number, "no port number");
      port = *value == UINT8_MAX ? kNoPort : static_cast<std::uint16_t>(*value);
    }
    const auto guid = fdbs ? std::nullopt : parse_number(text_after(rest, "portguid ", " \t:"), 16);
    set(guid ? owner(*guid, rest) : lids_.find(sw_, static_cast<std::uint16_t>(*lid)), port);
    return {};
  }

  // The destination whose GUID, kind and name an entry of an lfts dump has.
  [[nodiscard]] DestinationId owner(std::uint64_t guid, std::string_view text) const {
    const std::string_view name = text_between(text, '\'', '\'');
    if (text.find("# Switch") == std::string_view::npos) return ports_.end_port(guid, name);
    const SwitchId sw = ports_.network_switch(guid, name);
    return sw ? ports_.management(sw) : DestinationId();
  }

  void set(DestinationId id, std::uint16_t port) {
    if (!sw_) return;
    const PlaneId plane = scope_.plane_of(sw_);
    if (!id || scope_.plane_of(id) != plane) {
      ++read_.unknown_lids;
      return;
    }
    auto& editor = editors_[plane.index()];
    if (!editor) editor.emplace(planes_[plane.index()]);
    editor->set(scope_.local(sw_), scope_.local(id), port);
    ++read_.entries;
    ++read_.entries_of_plane[plane.index()];
  }

  const RoutingScope& scope_;
  DumpedPorts ports_;
  DumpedLids lids_;
  ReadTables read_;
  std::vector<PlaneTables> planes_;
  std::vector<std::optional<PlaneTables::Editor>> editors_;  // by plane
  bool in_switch_ = false;
  SwitchId sw_;  // none: before the first switch, or one that this fabric does not have
};

}  // namespace

Result<ReadTables> read_tables(const RoutingScopePtr& scope, std::string_view text, std::string_view subnet_list) {
  DumpReader reader(scope, subnet_list);
  const auto done =
      for_each_line(text, [&](std::string_view line, std::size_t number) { return reader.line(line, number); });
  if (!done) return std::unexpected(done.error());
  return std::move(reader).finish();
}

}  // namespace railweave::fabric
