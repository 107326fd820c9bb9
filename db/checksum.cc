#include "db/checksum.h"

#include <array>
#include <string_view>

#include <zlib.h>

namespace railweave::db {
namespace {

class Crc32 {
 public:
  Crc32& add(std::uint64_t value) {
    std::array<Bytef, 8> bytes{};
    for (auto& byte : bytes) {
      byte = static_cast<Bytef>(value & 0xFFU);
      value >>= 8U;
    }
    value_ = crc32_z(value_, bytes.data(), bytes.size());
    return *this;
  }
  Crc32& add(std::string_view text) {
    add(std::uint64_t{text.size()});
    if (!text.empty()) value_ = crc32_z(value_, reinterpret_cast<const Bytef*>(text.data()), text.size());
    return *this;
  }
  [[nodiscard]] std::uint32_t value() const { return static_cast<std::uint32_t>(value_); }

 private:
  uLong value_ = crc32_z(0, nullptr, 0);
};

}  // namespace

std::uint32_t checksum(const Record& record) {
  return Crc32()
      .add(record.seq)
      .add(record.term)
      .add(static_cast<std::uint64_t>(record.time_us))
      .add(record.actor)
      .add(record.kind)
      .add(std::uint64_t{record.version})
      .add(record.subject_kind)
      .add(record.subject_id)
      .add(record.payload)
      .value();
}

std::uint32_t checksum(const Snapshot& snapshot) {
  return Crc32()
      .add(snapshot.seq)
      .add(snapshot.term)
      .add(static_cast<std::uint64_t>(snapshot.time_us))
      .add(std::uint64_t{snapshot.version})
      .add(snapshot.payload)
      .value();
}

std::uint32_t checksum(const Blob& blob) { return Crc32().add(blob.digest).add(blob.bytes).value(); }

}  // namespace railweave::db
