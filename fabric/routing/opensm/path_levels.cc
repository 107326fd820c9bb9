#include "fabric/routing/opensm/path_levels.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "fabric/routing/opensm/dump_text.h"
#include "fabric/routing/opensm/dumped_ports.h"
#include "fabric/routing/plane/lanes.h"

namespace railweave::fabric {
namespace {

// The port's GUID is the second half of a GID.
std::optional<std::uint64_t> guid_of_gid(std::string_view text) {
  in6_addr address{};
  if (inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1) return std::nullopt;
  std::uint64_t guid = 0;
  for (std::size_t i = sizeof address.s6_addr / 2; i < sizeof address.s6_addr; ++i)
    guid = guid << 8U | address.s6_addr[i];
  return guid;
}

// "    sl......................0x2": the value of a field of saquery's.
std::optional<std::string_view> field_of(std::string_view line, std::string_view name) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (!line.starts_with(name) || !line.substr(name.size()).starts_with("..")) return std::nullopt;
  return line.substr(line.find_last_of('.') + 1);
}

// Between adapters alone: what is sent to a switch itself is management's.
std::size_t count_missing(const RoutingScope& scope, const PathLevels& levels) {
  std::size_t missing = 0;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    const auto& of_plane = levels.of_plane[id.index()];
    for (std::size_t from = 0; from < plane.homes.size(); ++from) {
      if (plane.homes[from].end_ports == 0) continue;
      for (const Segment& segment : plane.segments) {
        if (segment.kind == DestinationKind::switch_management || segment.lid_offset != 0) continue;
        for (std::size_t d = segment.first; d < segment.first + segment.count; ++d) {
          const bool is_untold = of_plane[from * plane.destination_count() + d] == PathLevels::kUntold;
          if (is_untold && plane.destination_home[d] != from) ++missing;
        }
      }
    }
  }
  return missing;
}

class LevelReader {
 public:
  LevelReader(const RoutingScopePtr& scope, std::string_view subnet_list)
      : scope_(*scope), ports_(scope_), lids_(scope_, ports_, subnet_list) {
    for (const PlaneId id : scope_.planes()) {
      const Plane& plane = scope_.plane(id);
      read_.of_plane.emplace_back(plane.homes.size() * plane.destination_count(), PathLevels::kUntold);
    }
  }

  Result<void> line(std::string_view line, std::size_t number) {
    if (line.find(", base LID ") != std::string_view::npos) return heading(line, number);
    if (line.starts_with("PathRecord")) {
      end_record();
      return {};
    }
    if (line.starts_with("0x")) return row(line, number);
    return field(line, number);
  }

  Result<PathLevels> finish() && {
    end_record();
    if (read_.paths == 0) {
      return fail(ErrorKind::invalid, "routing.foreignDump", "the dump has no path between ports of this fabric", {},
                  "give the opensm-subnet.lst of the same run as well");
    }
    read_.missing = count_missing(scope_, read_);
    return std::move(read_);
  }

 private:
  // Channel Adapter 0x0000000000100001, base LID 4, "H-1", port 1
  Result<void> heading(std::string_view line, std::size_t number) {
    const auto at = line.find("0x");
    const auto guid =
        at == std::string_view::npos ? std::nullopt : parse_number(line.substr(at, line.find(',', at) - at), 16);
    if (!guid) return malformed_dump(number, "a port without a GUID");
    const std::string_view name = text_between(line, '"', '"');
    const bool is_switch = line.starts_with("Switch");
    const SwitchId sw = is_switch ? ports_.network_switch(*guid, name) : SwitchId();
    source_ = is_switch ? (sw ? ports_.management(sw) : DestinationId()) : ports_.end_port(*guid, name);
    in_source_ = true;
    return {};
  }

  // 0x0001 : 2  : 4   : 3
  Result<void> row(std::string_view rest, std::size_t number) {
    if (!in_source_) return malformed_dump(number, "an entry before any port");
    const auto lid = parse_number(take_word(rest), 16);
    if (!lid || *lid == 0 || *lid > RoutingScope::kLastLid) return malformed_dump(number, "no unicast LID");
    if (take_word(rest) != ":") return malformed_dump(number, "no level after the LID");
    const std::string_view level_text = take_word(rest);
    if (level_text == "UNREACHABLE") return {};
    const auto level = parse_number(level_text, 10);
    if (!level || *level >= kMaxServiceLevels) return malformed_dump(number, "no service level");
    const SwitchId home = source_ ? scope_.destination(source_).home : SwitchId();
    add(source_, lids_.find(home, static_cast<std::uint16_t>(*lid)), static_cast<std::uint8_t>(*level));
    return {};
  }

  Result<void> field(std::string_view line, std::size_t number) {
    if (const auto gid = field_of(line, "sgid")) record_.source = guid_of_gid(*gid);
    if (const auto gid = field_of(line, "dgid")) record_.destination = guid_of_gid(*gid);
    if (const auto text = field_of(line, "sl")) {
      record_.level = parse_number(*text, 16);
      if (!record_.level || *record_.level >= kMaxServiceLevels) return malformed_dump(number, "no service level");
    }
    return {};
  }

  void end_record() {
    const Record record = std::exchange(record_, {});
    if (!record.source || !record.destination || !record.level) return;
    add(port_of(*record.source), port_of(*record.destination), static_cast<std::uint8_t>(*record.level));
  }

  // A port of an adapter, or that of a switch's own.
  [[nodiscard]] DestinationId port_of(std::uint64_t guid) const {
    if (const DestinationId port = ports_.end_port(guid, {})) return port;
    const SwitchId sw = ports_.network_switch(guid, {});
    return sw ? ports_.management(sw) : DestinationId();
  }

  void add(DestinationId from, DestinationId to, std::uint8_t level) {
    if (!from || !to || scope_.plane_of(from) != scope_.plane_of(to)) {
      ++read_.unknown;
      return;
    }
    const PlaneId id = scope_.plane_of(from);
    const Plane& plane = scope_.plane(id);
    const std::size_t home = plane.destination_home[scope_.local(from)];
    std::uint8_t& told = read_.of_plane[id.index()][home * plane.destination_count() + scope_.local(to)];
    ++read_.paths;
    if (told != PathLevels::kUntold && told != level) {
      ++read_.differ;
      return;
    }
    told = level;
    read_.levels = std::max(read_.levels, level + 1U);
  }

  struct Record {
    std::optional<std::uint64_t> source, destination, level;
  };

  const RoutingScope& scope_;
  DumpedPorts ports_;
  DumpedLids lids_;
  PathLevels read_;
  bool in_source_ = false;
  DestinationId source_;  // none: before the first port, or one that this fabric does not have
  Record record_;
};

}  // namespace

Result<PathLevels> read_path_levels(const RoutingScopePtr& scope, std::string_view text, std::string_view subnet_list) {
  LevelReader reader(scope, subnet_list);
  const auto done =
      for_each_line(text, [&](std::string_view line, std::size_t number) { return reader.line(line, number); });
  if (!done) return std::unexpected(done.error());
  return std::move(reader).finish();
}

void add_levels(const RoutingScope& scope, const PathLevels& more, PathLevels& levels) {
  levels.paths += more.paths;
  levels.unknown += more.unknown;
  levels.differ += more.differ;
  levels.levels = std::max(levels.levels, more.levels);
  for (const PlaneId id : scope.planes()) {
    auto& of_plane = levels.of_plane[id.index()];
    for (std::size_t i = 0; i < of_plane.size(); ++i) {
      const std::uint8_t level = more.of_plane[id.index()][i];
      if (level == PathLevels::kUntold || level == of_plane[i]) continue;
      if (of_plane[i] == PathLevels::kUntold) {
        of_plane[i] = level;
      } else {
        ++levels.differ;
      }
    }
  }
  levels.missing = count_missing(scope, levels);
}

}  // namespace railweave::fabric
