#include "tests/integration/infiniband_probe/port_commands.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

namespace railweave::fabric::infiniband {

namespace {

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Take>
void each_of(const std::string& list, Take take) {
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) take(item);
}

std::vector<VlWeight> weights(const std::string& list) {
  std::vector<VlWeight> out;
  each_of(list, [&](const std::string& item) {
    const auto colon = item.find(':');
    out.push_back(
        {static_cast<std::uint8_t>(std::stoul(item)), static_cast<std::uint8_t>(std::stoul(item.substr(colon + 1)))});
  });
  return out;
}

PortRef read_port(std::istream& in) {
  std::string guid;
  unsigned port = 0;
  in >> guid >> port;
  return {parse_guid(guid).value_or(Guid()), static_cast<std::uint8_t>(port)};
}

PortTables read_tables(const std::string& line) {
  std::istringstream in(line);
  PortTables out;
  out.port = read_port(in);
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "sl2vl") {
      std::size_t sl = 0;
      out.sl_to_vl.emplace();
      each_of(value,
              [&](const std::string& vl) { out.sl_to_vl->at(sl++) = static_cast<std::uint8_t>(std::stoul(vl)); });
    } else if (name == "pkeys") {
      out.pkeys.emplace();
      each_of(value, [&](const std::string& pkey) {
        out.pkeys->push_back(static_cast<std::uint16_t>(std::stoul(pkey, nullptr, 16)));
      });
    } else if (name == "removeDefault") {
      out.may_remove_default_pkey = true;
    } else {
      if (!out.arbitration) out.arbitration.emplace();
      if (name == "high") out.arbitration->high = weights(value);
      if (name == "low") out.arbitration->low = weights(value);
      if (name == "limit") out.arbitration->high_limit = static_cast<std::uint8_t>(std::stoul(value));
    }
  }
  return out;
}

const char* text(TableOutcome outcome) {
  constexpr const char* kTexts[] = {"notAsked", "unchanged", "applied", "notKept",
                                    "mismatch", "refused",   "invalid", "silent"};
  return kTexts[static_cast<std::size_t>(outcome)];
}

template <class List, class Print>
void print_list(const char* name, const List& list, Print print) {
  std::printf(",\"%s\":[", name);
  const char* comma = "";
  for (const auto& item : list) {
    std::printf("%s", comma);
    print(item);
    comma = ",";
  }
  std::printf("]");
}

void print_reading(const PortTablesReading& reading) {
  const PortTables& tables = reading.tables;
  std::printf("{\"guid\":\"%s\",\"port\":%u,\"answered\":%s,\"inPortsDiffer\":%s",
              to_string(tables.port.device).c_str(), tables.port.port, reading.answered ? "true" : "false",
              std::ranges::any_of(reading.lane_maps, [&](const auto& one) { return one.second != *tables.sl_to_vl; })
                  ? "true"
                  : "false");
  if (tables.sl_to_vl) print_list("slToVl", *tables.sl_to_vl, [](unsigned vl) { std::printf("%u", vl); });
  const auto weight = [](VlWeight entry) { std::printf("[%u,%u]", entry.vl, entry.weight); };
  if (tables.arbitration) {
    print_list("high", tables.arbitration->high, weight);
    print_list("low", tables.arbitration->low, weight);
  }
  if (tables.pkeys) print_list("pkeys", *tables.pkeys, [](unsigned pkey) { std::printf("%u", pkey); });
  std::printf("}");
}

int failed(const Error& error) {
  std::fprintf(stderr, "infiniband_probe: %s\n", error.text().c_str());
  return 1;
}

int write_and_read(InfinibandDriver& driver, const std::vector<PortTables>& wanted) {
  auto start = std::chrono::steady_clock::now();
  const auto report = driver.program_ports(wanted);
  if (!report) return failed(report.error());
  const double write_s = since(start);
  std::vector<PortRef> ports;
  for (const auto& tables : wanted) ports.push_back(tables.port);
  start = std::chrono::steady_clock::now();
  const auto readings = driver.read_port_tables(ports);
  if (!readings) return failed(readings.error());
  std::printf("{\"written\":%zu,\"asked\":%llu,\"complete\":%s,\"writeS\":%.5f,\"readS\":%.5f", report->written,
              static_cast<unsigned long long>(report->asked), report->complete() ? "true" : "false", write_s,
              since(start));
  print_list("isolated", report->isolated,
             [](const auto& device) { std::printf("\"%s\"", to_string(device.device).c_str()); });
  print_list("outcomes", report->ports, [](const PortTablesOutcome& port) {
    std::printf("{\"slToVl\":\"%s\",\"arbitration\":\"%s\",\"highLimit\":\"%s\",\"pkeys\":\"%s\",\"reason\":\"%s\"}",
                text(port.sl_to_vl), text(port.arbitration), text(port.high_limit), text(port.pkeys),
                port.reason.c_str());
  });
  print_list("readings", *readings, print_reading);
  std::printf("}\n");
  std::fflush(stdout);
  return 0;
}

void print_counts(const CounterReading& reading) {
  const PortCounts& counts = reading.counts;
  std::printf(
      "{\"guid\":\"%s\",\"port\":%u,\"answered\":%s,\"wide\":%s,\"waitKnown\":%s,\"reason\":\"%s\",\"xmitBytes\":%llu,"
      "\"rcvBytes\":%llu,\"xmitPackets\":%llu,\"rcvPackets\":%llu,\"xmitWait\":%u",
      to_string(reading.port.device).c_str(), reading.port.port, reading.answered ? "true" : "false",
      counts.wide ? "true" : "false", counts.wait_known ? "true" : "false", reading.reason.c_str(),
      static_cast<unsigned long long>(counts.transmit_bytes), static_cast<unsigned long long>(counts.receive_bytes),
      static_cast<unsigned long long>(counts.transmit_packets), static_cast<unsigned long long>(counts.receive_packets),
      counts.transmit_wait);
  print_list("errors", counts.errors, [](unsigned count) { std::printf("%u", count); });
  std::printf("}");
}

}  // namespace

int tables(InfinibandDriver& driver) {
  std::vector<PortTables> wanted;
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) {
      wanted.push_back(read_tables(line));
      continue;
    }
    if (const int code = write_and_read(driver, wanted); code != 0) return code;
    wanted.clear();
  }
  return 0;
}

int counters(InfinibandDriver& driver) {
  std::vector<PortRef> ports;
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) {
      std::istringstream in(line);
      ports.push_back(read_port(in));
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    const auto readings = driver.read_counters(ports);
    if (!readings) return failed(readings.error());
    std::printf("{\"seconds\":%.5f", since(start));
    print_list("readings", *readings, print_counts);
    std::printf("}\n");
    std::fflush(stdout);
    ports.clear();
  }
  return 0;
}

}  // namespace railweave::fabric::infiniband
