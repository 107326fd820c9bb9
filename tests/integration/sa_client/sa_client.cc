// A client of the subnet's administration, for tests, as IPoIB in a kernel is one: shares no code with Railweave. Its words, in order;
// STATE is a join state, MGID 32 hexadecimal digits:
//
//   join MGID STATE      with nothing but what joining takes; what the group is like is kept
//   create MGID STATE    with what the last group was like, as IPoIB makes its groups after the broadcast group
//   leave MGID STATE
//
// Each prints a line: "join MGID status 0x0 lid 0xc000 qkey 0xb1b mtu 0x84 rate 0x83 sl 0 state 0x1".
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/umad_sa_mcm.h>

#include "sa_port.h"

namespace {

constexpr int kAnswerMs = 1000, kAttempts = 5;

// The answer's status, and the record in it; -1: none came.
int ask(Port& port, std::uint8_t method, std::uint64_t mask, umad_sa_mcmember_record& record) {
  std::vector<std::uint8_t> buffer(umad_size() + sizeof(umad_sa_packet));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::fill(buffer.begin(), buffer.end(), std::uint8_t{0});
    auto* packet = static_cast<umad_sa_packet*>(umad_get_mad(buffer.data()));
    packet->mad_hdr.base_version = UMAD_BASE_VERSION;
    packet->mad_hdr.mgmt_class = UMAD_CLASS_SUBN_ADM;
    packet->mad_hdr.class_version = UMAD_SA_CLASS_VERSION;
    packet->mad_hdr.method = method;
    packet->mad_hdr.tid = htobe64(++port.transaction);
    packet->mad_hdr.attr_id = htons(UMAD_SA_ATTR_MCMEMBER_REC);
    packet->comp_mask = htobe64(mask);
    std::memcpy(packet->data, &record, sizeof(record));
    umad_set_addr(buffer.data(), static_cast<int>(port.info.sm_lid), 1, static_cast<int>(port.info.sm_sl), UMAD_QKEY);
    if (umad_send(port.handle, port.agent, buffer.data(), sizeof(umad_sa_packet), kAnswerMs, 0) < 0) return -1;
    int length = sizeof(umad_sa_packet);
    if (umad_recv(port.handle, buffer.data(), &length, kAnswerMs + 500) < 0 || umad_status(buffer.data()) != 0)
      continue;
    packet = static_cast<umad_sa_packet*>(umad_get_mad(buffer.data()));
    const int status = ntohs(packet->mad_hdr.status);
    if (status == 1) continue;  // busy
    if (status == 0) std::memcpy(&record, packet->data, sizeof(record));
    return status;
  }
  return -1;
}

void read_mgid(const char* text, std::uint8_t* mgid) {
  for (int i = 0; i < 16; ++i) {
    mgid[i] = static_cast<std::uint8_t>(std::stoul(std::string(text + 2 * i, 2), nullptr, 16));
  }
}

}  // namespace

int main(int count, char** words) {
  Port port;
  if (!open(port, false)) {
    std::fprintf(stderr, "no port\n");
    return 2;
  }
  constexpr std::uint64_t kJoin =
      UMAD_SA_MCM_COMP_MASK_MGID | UMAD_SA_MCM_COMP_MASK_PORT_GID | UMAD_SA_MCM_COMP_MASK_JOIN_STATE;
  constexpr std::uint64_t kCreate = kJoin | UMAD_SA_MCM_COMP_MASK_QKEY | UMAD_SA_MCM_COMP_MASK_MTU_SEL |
                                    UMAD_SA_MCM_COMP_MASK_MTU | UMAD_SA_MCM_COMP_MASK_TCLASS |
                                    UMAD_SA_MCM_COMP_MASK_PKEY | UMAD_SA_MCM_COMP_MASK_RATE_SEL |
                                    UMAD_SA_MCM_COMP_MASK_RATE | UMAD_SA_MCM_COMP_MASK_SL |
                                    UMAD_SA_MCM_COMP_MASK_FLOW_LABEL | UMAD_SA_MCM_COMP_MASK_HOP_LIMIT;
  umad_sa_mcmember_record last{};
  for (int i = 1; i + 2 < count; i += 3) {
    const std::string verb = words[i];
    umad_sa_mcmember_record record{};
    if (verb == "create") record = last;
    read_mgid(words[i + 1], record.mgid);
    record.mlid = 0;
    std::memcpy(record.portgid, &port.info.gid_prefix, 8);
    std::memcpy(record.portgid + 8, &port.info.port_guid, 8);
    umad_sa_mcm_set_join_state(&record, static_cast<std::uint8_t>(std::stoul(words[i + 2], nullptr, 0)));
    const std::uint8_t method = verb == "leave" ? std::uint8_t{UMAD_SA_METHOD_DELETE} : std::uint8_t{UMAD_METHOD_SET};
    const int status = ask(port, method, verb == "create" ? kCreate : kJoin, record);
    std::printf("%s %s status 0x%x", verb.c_str(), words[i + 1], static_cast<unsigned>(status));
    if (status == 0) {
      last = record;
      std::printf(" lid 0x%x qkey 0x%x mtu 0x%x rate 0x%x sl %u state 0x%x", ntohs(record.mlid), ntohl(record.qkey),
                  record.mtu, record.rate, ntohl(record.sl_flow_hop) >> 28U, record.scope_state & 0x0fU);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  umad_unregister(port.handle, port.agent);
  umad_close_port(port.handle);
  return 0;
}
