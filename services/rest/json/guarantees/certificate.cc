#include "services/rest/json/guarantees/certificate.h"

#include <algorithm>
#include <map>

#include "fabric/base/text/json_string.h"
#include "fabric/capacity/lane_owners.h"

namespace railweave::api {
namespace {

using namespace fabric;  // NOLINT

void member(std::string& out, std::string_view name, bool comma = true) {
  if (comma) out += ',';
  out += '"';
  out += name;
  out += "\":";
}
void text(std::string& out, std::string_view name, std::string_view value, bool comma = true) {
  member(out, name, comma);
  append_json_string(out, value);
}
void number(std::string& out, std::string_view name, std::int64_t value, bool comma = true) {
  member(out, name, comma);
  append_json_number(out, static_cast<std::uint64_t>(value));
}

// What packets carry, by level of the routing; none where ports have no such plan.
template <class LevelOf>
void append_levels(std::string& out, const InfinibandPlan* plan, const LevelOf& level_of) {
  if (plan == nullptr) return;
  member(out, "serviceLevels");
  JsonCommas levels;
  out += '[';
  for (unsigned level = 0; level < plan->routing_levels; ++level) {
    levels(out);
    append_json_number(out, level_of(level));
  }
  out += ']';
}

void append_job(std::string& out, const CertificateInput& input, const Reservation& job) {
  const Topology& t = input.view->topology();
  text(out += "{", "job", job.job, false);
  text(out, "tenant", job.tenant);
  text(out, "class", (*input.classes)[job.qos_class].name);
  text(out, "promise", job.promise == TrafficPromise::hose ? "hose" : "pattern");
  number(out, "reservedPermille", job.reserved_permille);
  member(out, "survivesLinkFailure");
  out += job.survives_link_failure ? "true" : "false";
  if (job.lane) {
    number(out, "lane", *job.lane);
    if (input.plan == nullptr || *job.lane < input.plan->owned_lanes) {
      append_levels(out, input.plan, [&](unsigned level) { return input.plan->owned_level(*job.lane, level); });
    }
  }
  const auto port_with_lid = [&](std::string_view name, PortId port, bool comma) {
    text(out, name, t.port_text(port), comma);
    const DestinationId id = input.tables->scope().find(port);
    number(out, std::string(name) + "Lid", id ? input.tables->scope().lid(id) : 0);
  };
  if (job.promise == TrafficPromise::hose) {
    member(out, "ports");
    out += '[';
    for (std::size_t i = 0; i < job.ports.size(); ++i) {
      out += i == 0 ? "{" : ",{";
      port_with_lid("port", job.ports[i].port, false);
      number(out, "sendMbps", job.ports[i].send_mbps);
      number(out, "receiveMbps", job.ports[i].receive_mbps);
      out += '}';
    }
    out += "]}";
    return;
  }
  member(out, "flows");
  out += '[';
  for (std::size_t i = 0; i < job.flows.size(); ++i) {
    out += i == 0 ? "{" : ",{";
    port_with_lid("from", job.flows[i].ports.from, false);
    port_with_lid("to", job.flows[i].ports.to, true);
    number(out, "mbps", job.flows[i].mbps);
    out += '}';
  }
  out += "]}";
}

// The port's arbitration table: class, lane and weight of each entry that is served; for the owner of a lane the number of classes and
// the lane's own in the place of the class.
void append_turns(std::string& out, const InfinibandPlan& plan, const VlArbitration& table) {
  JsonCommas turns;
  for (const VlWeight entry : table.low) {
    if (entry.weight == 0) continue;  // skipped by the port as well
    turns(out);
    const unsigned slot = entry.vl / plan.routing_lanes;
    const auto of_class = std::ranges::find(plan.numbers, slot);
    append_json_number(out += '[', of_class == plan.numbers.end()
                                       ? slot
                                       : static_cast<std::uint64_t>(of_class - plan.numbers.begin()));
    append_json_number(out += ',', entry.vl);
    append_json_number(out += ',', entry.weight);
    out += ']';
  }
}

// What the owners of lanes have reserved on a link, as a part of their classes'.
void append_owners(std::string& out, std::span<const OwnedLoad> owned) {
  if (owned.empty()) return;
  member(out, "lanes");
  JsonCommas owners;
  out += '[';
  for (const OwnedLoad& one : owned) {
    owners(out);
    number(out += '{', "lane", one.lane, false);
    text(out, "job", one.owner->job);
    number(out, "reservedMbps", one.mbps);
    out += '}';
  }
  out += ']';
}

// What InfiniBand ports can hold.
void append_port_limits(std::string& out, const CertificateInput& input) {
  member(out, "ports");
  out += '{';
  number(out, "arbitrationEntries", static_cast<std::int64_t>(input.arbitration.entries), false);
  number(out, "mtuBytes", input.arbitration.mtu_bytes);
  number(out, "largestPacketBytes", std::int64_t{packet_units(input.arbitration.mtu_bytes)} * kWeightUnitBytes);
  text(out, "from", input.limits_known ? "devices" : "specification");
  text(out, "refused", input.plan == nullptr ? input.refused : std::string_view());
  out += '}';
}

// The subnets whose packets have more than one path: what the loads of their jobs count on.
void append_spread(std::string& out, const FabricView& view) {
  const Topology& t = view.topology();
  const auto is_spread = [&](SubnetId subnet) { return view.spread(subnet) != PathSpread::single; };
  if (std::ranges::none_of(t.subnets(), is_spread)) return;
  out += ",\n\"spread\":[";
  JsonCommas subnets;
  for (const SubnetId subnet : t.subnets()) {
    if (!is_spread(subnet)) continue;
    subnets(out);
    text(out += '{', "subnet", t.name(subnet), false);
    text(out, "spread", to_text(view.spread(subnet)));
    out += '}';
  }
  out += ']';
}

}  // namespace

std::string write_certificate(const CertificateInput& input) {
  const Topology& t = input.view->topology();
  const Ledger& ledger = *input.ledger;
  std::string out = "{\"railweave\":\"certificate\",\"version\":2";
  number(out, "seq", static_cast<std::int64_t>(input.seq));
  out += ",\n\"routes\":{\"format\":\"opensm.fdbs\"";
  text(out, "fnv1a64", to_string(Guid(input.entries_digest)));
  out += "}";
  number(out, "usablePermille", ledger.rules().usable_permille);
  append_port_limits(out, input);
  out += ",\n\"classes\":[";
  for (std::size_t c = 0; c < input.classes->size(); ++c) {
    const QosClass& one = (*input.classes)[c];
    text(out += c == 0 ? "{" : ",{", "name", one.name, false);
    number(out, "sharePermille", one.share_permille);
    append_levels(out, input.plan,
                  [&](unsigned level) { return input.plan->service_level(static_cast<unsigned>(c), level); });
    out += '}';
  }
  out += "],\n\"linksDown\":[";
  JsonCommas down;
  for (const LinkId link : t.links()) {
    if (input.view->alive(link)) continue;
    down(out);
    append_json_string(out, t.link_text(link));
  }
  out += ']';
  append_spread(out, *input.view);
  out += ",\n\"jobs\":[";
  JsonCommas jobs;
  for (const ReservationPtr& job : ledger.reservations()) {
    jobs(out);
    out += '\n';
    append_job(out, input, *job);
  }
  std::map<std::pair<Guid, unsigned>, const PortTables*> tables;
  if (input.plan != nullptr) {
    for (const PortTables& port : input.plan->ports) tables[{port.port.device, port.port.port}] = &port;
  }
  out += "\n],\n\"links\":[";
  const auto classes = static_cast<std::uint8_t>(ledger.classes());
  const auto owned = owned_loads(ledger);
  JsonCommas links;
  for (DirectedLink link = 0; link < ledger.links(); ++link) {
    std::int64_t any = 0;
    for (std::uint8_t c = 0; c < classes; ++c) any += ledger.reserved_mbps(link, c);
    if (any == 0) continue;
    const PortId from = out_port_of(t, link);
    links(out);
    text(out += "\n{", "from", t.port_text(from), false);
    text(out, "to", t.port_text(t.peer(from)));
    number(out, "capacityMbps", ledger.capacity_mbps(link));
    member(out, "reservedMbps");
    for (std::uint8_t c = 0; c < classes; ++c) {
      append_json_number(out += c == 0 ? "[" : ",", static_cast<std::uint64_t>(ledger.reserved_mbps(link, c)));
    }
    out += ']';
    append_owners(out, owned_on(owned, link));
    const Guid device = t.is_switch_port(from) ? t.guid(t.switch_of(from))
                        : t.is_hca_port(from)  ? t.guid(t.hca_of(from))
                                               : Guid();
    if (t.kind(link_of(link)) != LinkKind::infiniband) {  // ETS: queues have the weights of the classes
      member(out, "weights");
      for (std::uint8_t c = 0; c < classes; ++c) {
        append_json_number(out += c == 0 ? "[" : ",", (*input.classes)[c].share_permille);
      }
      out += "]}";
      continue;
    }
    member(out, "turns");
    out += '[';
    if (const auto at = tables.find({device, t.number(from)}); at != tables.end()) {
      append_turns(out, *input.plan, *at->second->arbitration);
    }
    out += "]}";
  }
  return out + "\n]}\n";
}

std::string signed_certificate(std::string certificate, const SigningKey& key) {
  certificate.resize(certificate.rfind('}'));
  certificate += ",\n";
  std::string line = "\"signature\":{";
  text(line, "algorithm", "ed25519", false);
  text(line, "key", key.id());
  text(line, "value", key.sign(certificate));
  return certificate + line + "}}\n";
}

std::string write_certificate_key(const SigningKey& key) {
  std::string out = "{";
  text(out, "algorithm", "ed25519", false);
  text(out, "key", key.id());
  text(out, "publicKey", key.public_pem());
  return out + "}";
}

}  // namespace railweave::api
