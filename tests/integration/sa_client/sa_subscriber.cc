// A client that subscribes to notices of a subnet, for tests, as srp_daemon and other programs on a host do it: shares no code with
// Railweave. Its words, in order, numbers as C writes them:
//
//   subscribe TRAP [...]        65535: to any
//   unsubscribe TRAP [...]
//   listen SECONDS              prints each report and confirms it
//   hear SECONDS                prints each report and confirms none
//   manage SECONDS              the port says for so long that a subnet manager runs there; 0: until this client ends
//
// "subscribe 64 status 0x0", "report 65 type 3 producer 4 lid 1 issuer 0x10 gid fe80..12 tid 0x1", "listened".
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <unistd.h>

#include "sa_port.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kAnswerMs = 1000, kAttempts = 5;
constexpr std::uint16_t kNotice = 2, kInformInfo = 3;

struct __attribute__((packed)) InformInfo {
  std::uint8_t gid[16];
  std::uint16_t first_lid, last_lid, reserved;
  std::uint8_t is_generic, subscribe;
  std::uint16_t type, trap;
  std::uint32_t queue_pair;
  std::uint8_t reserved_2, producer[3];
};
struct __attribute__((packed)) Notice {
  std::uint8_t type, producer[3];
  std::uint16_t trap, lid, count;
  std::uint8_t details[54], issuer[16];
};
static_assert(sizeof(InformInfo) == 36 && sizeof(Notice) == 80);

std::vector<std::uint8_t> empty() { return std::vector<std::uint8_t>(umad_size() + sizeof(umad_sa_packet)); }
umad_sa_packet* packet_in(std::vector<std::uint8_t>& buffer) {
  return static_cast<umad_sa_packet*>(umad_get_mad(buffer.data()));
}

void take_report(Port& port, std::vector<std::uint8_t>& buffer, bool confirms) {
  umad_sa_packet* packet = packet_in(buffer);
  Notice notice{};
  std::memcpy(&notice, packet->data, sizeof notice);
  const unsigned producer = static_cast<unsigned>(notice.producer[0]) << 16U |
                            static_cast<unsigned>(notice.producer[1]) << 8U | notice.producer[2];
  std::uint64_t issuer = 0;
  std::memcpy(&issuer, notice.issuer + 8, 8);
  std::printf("report %u type %u producer %u lid %u issuer 0x%llx gid ", ntohs(notice.trap), notice.type & 127U,
              producer, ntohs(notice.lid), static_cast<unsigned long long>(be64toh(issuer)));
  const unsigned trap = ntohs(notice.trap);
  for (int i = 0; i < 16; ++i) std::printf("%02x", trap >= 64 && trap <= 67 ? notice.details[6 + i] : 0U);
  std::printf(" tid 0x%x\n", static_cast<unsigned>(be64toh(packet->mad_hdr.tid) & 0xffffffffU));
  std::fflush(stdout);
  if (!confirms) return;
  packet->mad_hdr.method = UMAD_METHOD_REPORT_RESP;
  const int lid = ntohs(umad_get_mad_addr(buffer.data())->lid);
  umad_set_addr(buffer.data(), lid, 1, 0, UMAD_QKEY);
  umad_send(port.handle, port.agent, buffer.data(), sizeof(umad_sa_packet), 0, 0);
}

// Whoever asks for a subnet manager here is told that there is one that is not active.
void answer_manager(Port& port, std::vector<std::uint8_t>& buffer) {
  auto* mad = static_cast<std::uint8_t*>(umad_get_mad(buffer.data()));
  if (mad[3] != UMAD_METHOD_GET) return;
  const bool is_directed = mad[1] == UMAD_CLASS_SUBN_DIRECTED_ROUTE;
  mad[3] = UMAD_METHOD_GET_RESP;
  mad[4] = is_directed ? 0x80 : 0;
  std::memset(mad + 64, 0, 64);
  std::memcpy(mad + 64, &port.info.port_guid, 8);
  const int lid = is_directed ? 0xffff : ntohs(umad_get_mad_addr(buffer.data())->lid);
  umad_set_addr(buffer.data(), lid, 0, 0, 0);
  umad_send(port.handle, is_directed ? port.directed : port.by_lid, buffer.data(), sizeof(umad_sa_packet), 0, 0);
}

// One datagram of the administration; false: there was none in time.
bool receive(Port& port, std::vector<std::uint8_t>& buffer, int wait_ms) {
  std::fill(buffer.begin(), buffer.end(), std::uint8_t{0});
  int length = sizeof(umad_sa_packet);
  if (umad_recv(port.handle, buffer.data(), &length, wait_ms) < 0 || umad_status(buffer.data()) != 0) return false;
  if (packet_in(buffer)->mad_hdr.mgmt_class == UMAD_CLASS_SUBN_ADM) return true;
  answer_manager(port, buffer);
  return false;
}

bool is_report(std::vector<std::uint8_t>& buffer) {
  return packet_in(buffer)->mad_hdr.method == UMAD_METHOD_REPORT &&
         ntohs(packet_in(buffer)->mad_hdr.attr_id) == kNotice;
}

// The answer's status; -1: none came.
int subscribe(Port& port, unsigned trap, bool begins) {
  std::vector<std::uint8_t> buffer = empty();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::fill(buffer.begin(), buffer.end(), std::uint8_t{0});
    umad_sa_packet* packet = packet_in(buffer);
    packet->mad_hdr.base_version = UMAD_BASE_VERSION;
    packet->mad_hdr.mgmt_class = UMAD_CLASS_SUBN_ADM;
    packet->mad_hdr.class_version = UMAD_SA_CLASS_VERSION;
    packet->mad_hdr.method = UMAD_METHOD_SET;
    packet->mad_hdr.tid = htobe64(++port.transaction);
    packet->mad_hdr.attr_id = htons(kInformInfo);
    InformInfo info{};
    info.first_lid = 0xffff;
    info.is_generic = 1;
    info.subscribe = begins ? 1 : 0;
    info.type = 0xffff;
    info.trap = htons(static_cast<std::uint16_t>(trap));
    info.queue_pair = begins ? 0 : htonl(1U << 8U);
    std::memset(info.producer, 0xff, sizeof info.producer);
    std::memcpy(packet->data, &info, sizeof info);
    umad_set_addr(buffer.data(), static_cast<int>(port.info.sm_lid), 1, static_cast<int>(port.info.sm_sl), UMAD_QKEY);
    if (umad_send(port.handle, port.agent, buffer.data(), sizeof(umad_sa_packet), kAnswerMs, 0) < 0) return -1;
    const auto until = Clock::now() + std::chrono::milliseconds(kAnswerMs);
    while (Clock::now() < until) {
      if (!receive(port, buffer, kAnswerMs)) continue;
      if (is_report(buffer)) {
        take_report(port, buffer, true);
        continue;
      }
      const int status = ntohs(packet_in(buffer)->mad_hdr.status);
      if (status != 1) return status;  // busy
      usleep(200'000);
      break;
    }
  }
  return -1;
}

void listen_for(Port& port, double seconds, bool confirms) {
  std::vector<std::uint8_t> buffer = empty();
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < until) {
    if (receive(port, buffer, 100) && is_report(buffer)) take_report(port, buffer, confirms);
  }
}

void manage_for(double seconds) {
  char path[256] = {};
  if (umad_get_issm_path(nullptr, 0, path, sizeof path) < 0) return;
  const int handle = ::open(path, O_NONBLOCK);
  std::printf("manages %s\n", handle >= 0 ? "yes" : "no");
  std::fflush(stdout);
  if (seconds == 0) return;
  usleep(static_cast<unsigned>(seconds * 1e6));
  if (handle >= 0) close(handle);
}

}  // namespace

int main(int count, char** words) {
  Port port;
  if (!open(port, true)) {
    std::fprintf(stderr, "no port\n");
    return 2;
  }
  for (int i = 1; i + 1 < count;) {
    const std::string verb = words[i++];
    if (verb == "subscribe" || verb == "unsubscribe") {
      for (; i < count && words[i][0] >= '0' && words[i][0] <= '9'; ++i) {
        const auto trap = static_cast<unsigned>(std::stoul(words[i]));
        const int status = subscribe(port, trap, verb == "subscribe");
        std::printf("%s %u status 0x%x\n", verb.c_str(), trap, static_cast<unsigned>(status));
      }
    } else if (verb == "manage") {
      manage_for(std::stod(words[i++]));
    } else {
      listen_for(port, std::stod(words[i++]), verb == "listen");
      std::printf("listened\n");
    }
    std::fflush(stdout);
  }
  umad_unregister(port.handle, port.agent);
  umad_close_port(port.handle);
  return 0;
}
