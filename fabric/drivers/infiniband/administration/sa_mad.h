// A datagram of subnet administration: the header that all classes share, the one for messages of several datagrams (RMPP,
// IBA 13.6.2), and the administration's own (15.2.1), with 200 bytes of an attribute or of a part of a table behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/drivers/infiniband/mad/mad.h"

namespace railweave::fabric::infiniband {

inline constexpr std::size_t kSaDataOffset = 56;
inline constexpr std::size_t kSaDataBytes = kMadBytes - kSaDataOffset;
inline constexpr std::size_t kSaHeaderBytes = 20;  // counted as payload by RMPP

enum class SaMethod : std::uint8_t {
  get = 0x01,
  set = 0x02,
  report = 0x06,
  getTable = 0x12,
  getMulti = 0x14,
  remove = 0x15,
};
inline constexpr std::uint8_t kSaResponseBit = 0x80, kSaGetResponse = 0x81, kSaReportResponse = 0x86;

enum class SaAttribute : std::uint16_t {
  classPortInfo = 0x0001,
  notice = 0x0002,
  informInfo = 0x0003,
  nodeRecord = 0x0011,
  portInfoRecord = 0x0012,
  slToVlRecord = 0x0013,
  switchInfoRecord = 0x0014,
  linearForwardingTableRecord = 0x0015,
  multicastForwardingTableRecord = 0x0017,
  smInfoRecord = 0x0018,
  linkRecord = 0x0020,
  guidInfoRecord = 0x0030,
  serviceRecord = 0x0031,
  pkeyTableRecord = 0x0033,
  pathRecord = 0x0035,
  vlArbitrationRecord = 0x0036,
  multicastMemberRecord = 0x0038,
  multiPathRecord = 0x003a,
  informInfoRecord = 0x00f3,
};

// IBA 13.4.7 and 15.2.4.
enum class SaStatus : std::uint16_t {
  ok = 0,
  busy = 0x0001,  // ask again
  badVersion = 0x0004,
  badMethod = 0x0008,
  badAttribute = 0x000c,
  invalidField = 0x001c,
  noResources = 0x0100,
  invalidRequest = 0x0200,
  noRecords = 0x0300,
  tooManyRecords = 0x0400,
  invalidGid = 0x0500,
  lacksComponents = 0x0600,
};

enum class RmppType : std::uint8_t { none = 0, data = 1, ack = 2, stop = 3, abort = 4 };

struct RmppHeader {
  static constexpr std::uint8_t kVersion = 1;
  static constexpr std::uint8_t kActive = 1, kFirst = 2, kLast = 4;

  std::uint8_t version = 0;
  RmppType type = RmppType::none;
  std::uint8_t flags = 0;
  std::uint8_t status = 0;
  std::uint32_t segment = 0;
  std::uint32_t length = 0;  // of data: payload bytes; of an acknowledgement: the last segment that may be sent
  friend bool operator==(const RmppHeader&, const RmppHeader&) = default;
};

struct SaHeader {
  std::uint8_t base_version = 1, class_version = 2;
  std::uint8_t method = 0;
  std::uint16_t status = 0;
  std::uint64_t transaction = 0;
  std::uint16_t attribute = 0;
  std::uint32_t modifier = 0;
  RmppHeader rmpp;
  std::uint64_t key = 0;             // of a trusted requester; 0: it is none
  std::uint16_t record_offset = 0;   // from record to record, in units of 8 bytes
  std::uint64_t component_mask = 0;  // which components of the attribute are asked about, a bit each
  friend bool operator==(const SaHeader&, const SaHeader&) = default;
};

SaHeader read_sa_header(const Mad& mad);
void write_sa_header(Mad& mad, const SaHeader& header);

inline std::span<const std::uint8_t, kSaDataBytes> sa_data(const Mad& mad) {
  return std::span<const std::uint8_t, kSaDataBytes>(mad.data() + kSaDataOffset, kSaDataBytes);
}
inline std::span<std::uint8_t, kSaDataBytes> sa_space(Mad& mad) {
  return std::span<std::uint8_t, kSaDataBytes>(mad.data() + kSaDataOffset, kSaDataBytes);
}

}  // namespace railweave::fabric::infiniband
