#include "fabric/drivers/opensm/protocol/policy_event.h"

#include <optional>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/utf8.h"
#include "fabric/drivers/opensm/protocol/protocol_line.h"
#include "fabric/drivers/opensm/protocol/routing_policy.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric::opensm {
namespace {

std::unexpected<Error> malformed(std::string_view line, std::string_view expected) {
  std::string quoted = escaped_name(line.substr(0, 60));
  return fail(ErrorKind::malformed, "policy.malformed",
              fmt::format("expected {}, not '{}{}'", expected, quoted, line.size() > 60 ? "..." : ""));
}

constexpr std::string_view kEvents =
    "'event trap GUID PORT TRAP', 'event subnet-up REVISION DIGEST', 'event subnet-error', 'event routed REVISION "
    "DIGEST', 'event routing', 'event lft GUID BLOCKS', 'event refused REASON', 'event takes-ports', 'event no-ports "
    "REASON' or 'event "
    "lost COUNT'";

std::string printable(std::string_view text) {
  const std::string escaped = escaped_name(text);
  return std::string(utf8_prefix(escaped, PolicyEvent::kMaxReason));
}

}  // namespace

std::string write_hello(Guid subnet) { return fmt::format("railweave {} {}\n", kProtocolVersion, to_string(subnet)); }

Result<Guid> read_hello(std::string_view line) {
  const auto split = words_of<3>(line);
  const auto guid = split && split->second == 3 ? parse_guid(split->first[2]) : std::nullopt;
  if (!guid || !guid->known() || split->first[0] != "railweave") return malformed(line, "'railweave VERSION GUID'");
  if (split->first[1] != std::to_string(kProtocolVersion)) {
    return malformed(line, fmt::format("version {} of the protocol", kProtocolVersion));
  }
  return *guid;
}

std::string write_event(const PolicyEvent& event) {
  using Kind = PolicyEvent::Kind;
  const auto tables = [&] { return fmt::format("{} {}\n", event.revision, hex64(event.digest)); };
  switch (event.kind) {
    case Kind::trap:
      return fmt::format("event trap {} {} {}\n", to_string(event.device), event.port, event.number);
    case Kind::subnetUp:
      return "event subnet-up " + tables();
    case Kind::subnetError:
      return "event subnet-error\n";
    case Kind::routing:
      return "event routing\n";
    case Kind::routed:
      return "event routed " + tables();
    case Kind::written:
      return fmt::format("event lft {} {}\n", to_string(event.device), event.number);
    case Kind::takesPorts:
      return "event takes-ports\n";
    case Kind::noPorts:
      return "event no-ports " + printable(event.text) + "\n";
    case Kind::refused:
      return "event refused " + printable(event.text) + "\n";
    case Kind::lost:
      return fmt::format("event lost {}\n", event.number);
  }
  return {};
}

Result<PolicyEvent> read_event(std::string_view line) {
  using Kind = PolicyEvent::Kind;
  PolicyEvent event;
  for (const auto& [begin, kind] : {std::pair(std::string_view("event refused "), Kind::refused),
                                    std::pair(std::string_view("event no-ports "), Kind::noPorts)}) {
    if (!line.starts_with(begin)) continue;
    event.kind = kind;
    event.text = line.substr(begin.size());
    if (event.text.size() > PolicyEvent::kMaxReason || !is_clean_name(event.text)) return malformed(line, kEvents);
    return event;
  }
  const auto split = words_of<5>(line);
  if (!split || split->second < 2 || split->first[0] != "event") return malformed(line, kEvents);
  const auto& [words, count] = *split;
  if (words[1] == "trap" && count == 5) {
    const auto guid = parse_guid(words[2]);
    const auto port = whole_number<std::uint8_t>(words[3]);
    const auto number = whole_number<std::uint16_t>(words[4]);
    if (!guid || !port || !number) return malformed(line, kEvents);
    event.device = *guid;
    event.port = *port;
    event.number = *number;
    return event;
  }
  if (words[1] == "takes-ports" && count == 2) {
    event.kind = Kind::takesPorts;
    return event;
  }
  if ((words[1] == "subnet-error" || words[1] == "routing") && count == 2) {
    event.kind = words[1] == "routing" ? Kind::routing : Kind::subnetError;
    return event;
  }
  if ((words[1] == "subnet-up" || words[1] == "routed") && count == 4) {
    const auto revision = whole_number<std::uint64_t>(words[2]);
    const auto digest = hex_16(words[3]);
    if (!revision || !digest) return malformed(line, kEvents);
    event.kind = words[1] == "routed" ? Kind::routed : Kind::subnetUp;
    event.revision = *revision;
    event.digest = *digest;
    return event;
  }
  if (words[1] == "lft" && count == 4) {
    const auto guid = parse_guid(words[2]);
    const auto blocks = whole_number<std::uint64_t>(words[3]);
    if (!guid || !blocks) return malformed(line, kEvents);
    event.kind = Kind::written;
    event.device = *guid;
    event.number = *blocks;
    return event;
  }
  if (words[1] == "lost" && count == 3) {
    const auto number = whole_number<std::uint64_t>(words[2]);
    if (!number) return malformed(line, kEvents);
    event.kind = Kind::lost;
    event.number = *number;
    return event;
  }
  return malformed(line, kEvents);
}

}  // namespace railweave::fabric::opensm
