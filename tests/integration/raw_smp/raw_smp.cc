// Another program in a subnet, for tests: shares no code with the driver. Commands on standard input, one a line; ROUTE is a
// directed route as smpquery -D takes it, "0,1,5".
//
//   get ROUTE ATTRIBUTE MODIFIER                      prints the 64 bytes in hexadecimal, or "failed"
//   set ROUTE ATTRIBUTE MODIFIER OFFSET=BYTE ...      reads, changes bytes and writes them; prints what the answer holds
//   switch NAME ROUTE                                 one to be watched
//   watch SECONDS BLOCKS PAUSE_MS                     reads blocks 0 to BLOCKS-1 of the forwarding tables of all of these again and
//                                                     again; prints "at MONOTONIC_S", and "NAME BLOCK BYTES" where they differ
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <infiniband/mad.h>

namespace {

using Bytes = std::array<std::uint8_t, 64>;

ib_portid_t route_of(const std::string& text) {
  ib_portid_t id{};
  std::stringstream hops(text);
  std::string hop;
  std::getline(hops, hop, ',');  // the local node
  while (std::getline(hops, hop, ',')) id.drpath.p[++id.drpath.cnt] = static_cast<std::uint8_t>(std::stoul(hop));
  return id;
}

void print(const Bytes& bytes) {
  for (const std::uint8_t byte : bytes) std::printf("%02x", static_cast<unsigned>(byte));
}

void answer(bool is_read, const Bytes& bytes) {
  if (is_read) {
    print(bytes);
    std::printf("\n");
  } else {
    std::printf("failed\n");
  }
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void watch(const std::vector<std::pair<std::string, std::string>>& switches, double seconds, unsigned blocks,
           unsigned pause_ms, const ibmad_port* port) {
  std::map<std::pair<std::string, unsigned>, Bytes> seen;
  for (const double until = seconds_now() + seconds; seconds_now() < until;) {
    std::printf("at %.4f\n", seconds_now());
    for (const auto& [name, route] : switches) {
      ib_portid_t id = route_of(route);
      for (unsigned block = 0; block < blocks; ++block) {
        Bytes bytes{};
        if (smp_query_via(bytes.data(), &id, IB_ATTR_LINEARFORWTBL, block, 100, port) == nullptr) {
          std::printf("%s unread\n", name.c_str());
          break;
        }
        const auto [known, is_new] = seen.try_emplace({name, block}, bytes);
        if (!is_new && known->second == bytes) continue;
        known->second = bytes;
        std::printf("%s %u ", name.c_str(), block);
        print(bytes);
        std::printf("\n");
      }
    }
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  }
  std::printf("watched\n");
}

}  // namespace

int main() {
  std::array<int, 2> classes{IB_SMI_CLASS, IB_SMI_DIRECT_CLASS};
  ibmad_port* const port = mad_rpc_open_port(nullptr, 0, classes.data(), static_cast<int>(classes.size()));
  if (port == nullptr) {
    std::fprintf(stderr, "no port\n");
    return 2;
  }
  mad_rpc_set_retries(port, 3);
  std::vector<std::pair<std::string, std::string>> switches;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::stringstream words(line);
    std::string verb, route;
    words >> verb >> route;
    if (verb == "switch") {
      std::string own;
      words >> own;
      switches.emplace_back(route, own);
      continue;
    }
    if (verb == "watch") {
      unsigned blocks = 1, pause_ms = 0;
      words >> blocks >> pause_ms;
      mad_rpc_set_retries(port, 1);
      watch(switches, std::stod(route), blocks, pause_ms, port);
      continue;
    }
    std::string attribute, modifier;
    words >> attribute >> modifier;
    ib_portid_t id = route_of(route);
    const auto number = static_cast<unsigned>(std::stoul(attribute, nullptr, 16));
    const auto of = static_cast<unsigned>(std::stoul(modifier, nullptr, 16));
    Bytes bytes{};
    bool is_done = smp_query_via(bytes.data(), &id, number, of, 1000, port) != nullptr;
    if (is_done && verb == "set") {
      for (std::string change; words >> change;) {
        const auto equals = change.find('=');
        bytes.at(std::stoul(change.substr(0, equals))) =
            static_cast<std::uint8_t>(std::stoul(change.substr(equals + 1), nullptr, 0));
      }
      is_done = smp_set_via(bytes.data(), &id, number, of, 1000, port) != nullptr;
    }
    answer(is_done, bytes);
    std::fflush(stdout);
  }
  mad_rpc_close_port(port);
  return 0;
}
