// A client of a subnet's administration, for tests, that asks for paths between several ports at once (MultiPathRecord): shares no code with
// Railweave. Its words: the number of paths, sources, "to", targets; ports by GUID, in hexadecimal digits. Runs behind rmpp_kernel.
//
// "status 0x0", and for each path "path SLID DLID sl 0 mtu 0x84 rate 0x83 pkey 0xffff".
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <endian.h>

#include "sa_port.h"

namespace {

constexpr int kAnswerMs = 2000, kRecordBytes = 64, kHeaderBytes = 56;
constexpr std::uint8_t kGetMulti = 0x14;
constexpr std::uint16_t kMultiPath = 0x3a;

struct __attribute__((packed)) MultiPath {
  std::uint32_t hop_flow;
  std::uint8_t traffic_class, number;
  std::uint16_t key, level;
  std::uint8_t mtu, rate, life, service, independence, sources, targets, service_rest[7];
  std::uint64_t gids[22];
};
static_assert(sizeof(MultiPath) == 200);

unsigned at(const std::uint8_t* record, int offset) {
  return static_cast<unsigned>(record[offset] << 8U | record[offset + 1]);
}

}  // namespace

int main(int count, char** words) {
  Port port;
  if (umad_init() < 0 || (port.handle = umad_open_port(nullptr, 0)) < 0 || umad_get_port(nullptr, 0, &port.info) < 0) {
    return 2;
  }
  port.agent = umad_register(port.handle, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION, 1, nullptr);
  std::vector<std::uint8_t> buffer(umad_size() + (std::size_t{1} << 16U));
  auto* packet = static_cast<umad_sa_packet*>(umad_get_mad(buffer.data()));
  packet->mad_hdr.base_version = UMAD_BASE_VERSION;
  packet->mad_hdr.mgmt_class = UMAD_CLASS_SUBN_ADM;
  packet->mad_hdr.class_version = UMAD_SA_CLASS_VERSION;
  packet->mad_hdr.method = kGetMulti;
  packet->mad_hdr.tid = htobe64(7);
  packet->mad_hdr.attr_id = htons(kMultiPath);
  packet->rmpp_hdr.rmpp_version = 1;
  packet->rmpp_hdr.rmpp_type = 1;
  packet->rmpp_hdr.rmpp_rtime_flags = 1;
  packet->comp_mask = htobe64(1U << 6U | 1U << 19U | 1U << 20U);
  MultiPath asked{};
  asked.number = static_cast<std::uint8_t>(std::stoul(words[1]));
  std::uint8_t* number = &asked.sources;
  for (int i = 2, gid = 0; i < count; ++i) {
    if (std::string(words[i]) == "to") {
      number = &asked.targets;
      continue;
    }
    asked.gids[2 * gid] = port.info.gid_prefix;
    asked.gids[2 * gid + 1] = htobe64(std::strtoull(words[i], nullptr, 16));
    ++gid;
    ++*number;
  }
  std::memcpy(packet->data, &asked, sizeof asked);
  umad_set_addr(buffer.data(), static_cast<int>(port.info.sm_lid), 1, static_cast<int>(port.info.sm_sl), UMAD_QKEY);
  if (umad_send(port.handle, port.agent, buffer.data(), sizeof(umad_sa_packet), kAnswerMs, 0) < 0) return 3;
  int length = static_cast<int>(buffer.size() - umad_size());
  if (umad_recv(port.handle, buffer.data(), &length, kAnswerMs) < 0 || umad_status(buffer.data()) != 0) return 4;
  const auto* mad = static_cast<const std::uint8_t*>(umad_get_mad(buffer.data()));
  std::printf("status 0x%x\n", at(mad, 4));
  for (int offset = kHeaderBytes; at(mad, 4) == 0 && offset + kRecordBytes <= length; offset += kRecordBytes) {
    const std::uint8_t* record = mad + offset;
    std::printf("path %u %u sl %u mtu 0x%x rate 0x%x pkey 0x%x\n", at(record, 42), at(record, 40), record[53] & 15U,
                record[54], record[55], at(record, 50));
  }
  umad_unregister(port.handle, port.agent);
  umad_close_port(port.handle);
  return 0;
}
