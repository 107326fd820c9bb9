#include "services/verify/devices.h"

#include <algorithm>
#include <cstdio>

#include <fmt/core.h>

namespace railweave::verify {

void check_devices(const SubnetTables& tables, const Network& network, Verdict& verdict) {
  for (const auto& [guid, entries] : tables.routes.port_of) {
    if (!network.switches.contains(guid))
      verdict.fault("switch " + guid + ": has tables, and the fabric has no such switch");
  }
  for (const std::string& guid : network.switches) {
    if (!tables.routes.port_of.contains(guid)) verdict.fault("switch " + guid + ": its tables are missing");
  }
  for (const auto& [port, of_port] : tables.ports) {
    const auto peer = network.peer.find(port);
    if (peer == network.peer.end()) verdict.fault(port + ": has tables, and the fabric has no cable there");
    if (!of_port.facts) verdict.fault(port + ": what it says of itself is missing");
  }
  for (const PortName& port : network.infiniband) {
    if (!network.dead.contains(port) && !tables.ports.contains(port)) verdict.fault(port + ": its tables are missing");
  }
}

void check_keys(const SubnetTables& tables, const Network& network, const std::map<std::string, std::uint16_t>& pkeys,
                const std::map<std::string, std::set<std::string>>& tenants_by_node, Verdict& verdict) {
  constexpr unsigned kMember = 0x7fff;
  const auto key_text = [](unsigned key) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%04x", key);
    return std::string(text);
  };
  for (const auto& [port, host] : network.host) {
    if (host.empty() || !network.infiniband.contains(port) || network.dead.contains(port)) continue;
    const auto at = tables.ports.find(port);
    if (at == tables.ports.end()) continue;  // said by check_devices()
    std::set<unsigned> has;
    for (const std::uint16_t key : at->second.pkeys) has.insert(key);
    const auto here = tenants_by_node.find(host);
    for (const auto& [tenant, pkey] : pkeys) {
      const bool runs = here != tenants_by_node.end() && here->second.contains(tenant);
      if (runs && !has.contains(pkey | 0x8000U)) {
        verdict.fault(port + " of " + host + ": lacks the key " + key_text(pkey) + " of " + tenant +
                      ", whose job runs there");
      } else if (!runs && (has.contains(pkey) || has.contains(pkey | 0x8000U))) {
        verdict.fault(port + " of " + host + ": has the key " + key_text(pkey) + " of " + tenant +
                      ", which has no job there");
      }
    }
    for (const unsigned key : has) {
      const bool known = (key & kMember) == kMember || key == 0 ||
                         std::ranges::any_of(pkeys, [&](const auto& one) { return one.second == (key & kMember); });
      if (!known) verdict.fault(port + " of " + host + ": has the key " + key_text(key) + ", which no contract has");
    }
  }
}

void take_facts(const SubnetTables& tables, Network& network, Verdict& verdict) {
  for (const auto& [port, of_port] : tables.ports) {
    if (!of_port.facts) continue;
    const PortFacts& facts = *of_port.facts;
    const auto peer = network.peer.find(port);
    if (peer != network.peer.end() && facts.rate_mbps != 0) {
      for (const PortName& end : {port, peer->second}) {
        std::int64_t& rate = network.rate_mbps[end];
        rate = std::min(rate == 0 ? kUnknownRateMbps : rate, facts.rate_mbps);
      }
    }
    const auto lid = network.end_port_lid.find(port);
    if (lid == network.end_port_lid.end()) continue;
    if (lid->second != 0 && lid->second != facts.lid) {
      verdict.fault(fmt::format("{}: has LID {}, and {} in the fabric", port, facts.lid, lid->second));
    }
    lid->second = facts.lid;
    network.end_port_lmc[port] = facts.lmc;
  }
}

void PortLimits::add(std::int64_t entries_of_one, std::int64_t mtu_of_one) {
  entries = std::min(entries, entries_of_one);
  mtu_bytes = known ? std::max(mtu_bytes, mtu_of_one) : mtu_of_one;
  known = true;
}

PortLimits limits_of(const SubnetTables& tables) {
  PortLimits limits;
  for (const auto& [port, of_port] : tables.ports) {
    if (!of_port.facts || of_port.facts->arbitration_entries == 0) continue;
    limits.add(of_port.facts->arbitration_entries, of_port.facts->mtu_bytes);
  }
  return limits;
}

// LRH 8, GRH 40, BTH 12, extended transport headers 16, immediate data 4, ICRC 4, VCRC 2 bytes.
std::int64_t largest_packet(std::int64_t mtu_bytes) { return (mtu_bytes + 86 + 63) / 64; }

void check_limits(const nlohmann::json& certificate, const PortLimits* by_journal, const PortLimits* by_devices,
                  Verdict& verdict) {
  const nlohmann::json& said = certificate.at("ports");
  const auto entries = said.at("arbitrationEntries").get<std::int64_t>(), mtu = said.at("mtuBytes").get<std::int64_t>();
  const auto from = said.at("from").get<std::string>();
  const auto compare = [&](const PortLimits& limits, const std::string& who) {
    if (entries != limits.entries) {
      verdict.fault(
          fmt::format("ports have {} arbitration entries {}, the certificate says {}", limits.entries, who, entries));
    }
    if (mtu != limits.mtu_bytes) {
      verdict.fault(fmt::format("packets have up to {} bytes of payload {}, the certificate says {}", limits.mtu_bytes,
                                who, mtu));
    }
    if (from != (limits.known ? "devices" : "specification")) {
      verdict.fault(fmt::format("what ports can hold is {}known {}, the certificate says that it is from the {}",
                                limits.known ? "" : "not ", who, from));
    }
  };
  if (by_journal != nullptr) compare(*by_journal, "by the journal");
  if (by_devices != nullptr && by_devices->known) compare(*by_devices, "by what they say themselves");
  if (mtu != 256 && mtu != 512 && mtu != 1024 && mtu != 2048 && mtu != 4096) {
    verdict.fault(fmt::format("no port has an MTU of {} bytes", mtu));
  }
  if (entries < 1 || entries > 64) verdict.fault(fmt::format("no port has {} arbitration entries", entries));
  if (from != "devices" && (from != "specification" || mtu != 4096 || entries != 64)) {
    verdict.fault("what ports can hold is from no one: " + from);
  }
  if (said.at("largestPacketBytes").get<std::int64_t>() != largest_packet(mtu) * 64) {
    verdict.fault(fmt::format("a packet with {} bytes of payload has up to {} bytes with its headers", mtu,
                              largest_packet(mtu) * 64));
  }
  if (!said.at("refused").get<std::string>().empty()) {
    verdict.fault("ports do not have the tables of the classes: " + said.at("refused").get<std::string>());
  }
}

}  // namespace railweave::verify
